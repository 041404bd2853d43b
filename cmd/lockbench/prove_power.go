package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"lockbench/internal/proof"
	"lockbench/internal/run"
	"lockbench/internal/search"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// powerOf puts each wrong lock through all scenarios that it fits, with trials of one episode
// each, and its twin where that showed the class. It goes on where an earlier one ended.
func (f *proveFlags) powerOf(ctx context.Context, w world.Enclosing, proofs []*proof.Proof, say func(string), done func() error) error {
	dir, err := os.MkdirTemp("", "lockbench-power-")
	if err != nil {
		return fmt.Errorf("make a folder for histories: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	known := scenarios.AllCatalogs()
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, known)
		if err != nil {
			return err
		}
		started := time.Now()
		due := slices.DeleteFunc(slices.Clone(proofs), func(p *proof.Proof) bool {
			return slices.ContainsFunc(p.Power, func(c proof.Catch) bool { return c.Scenario == name && c.Runs >= f.power })
		})
		var mu sync.Mutex
		caught, tried := 0, 0
		err = sideBySide(ctx, due, dir, func(p *proof.Proof, history string) error {
			c, err := f.catch(ctx, w.Enclosure(), s, p, known, history)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, p.Lock, err)
			}
			if c.Runs == 0 {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			p.Power = append(slices.DeleteFunc(p.Power, func(c proof.Catch) bool { return c.Scenario == name }), c)
			tried++
			if c.Counts() {
				caught++
			}
			return nil
		})
		if err != nil {
			return err
		}
		if tried > 0 {
			say(fmt.Sprintf(" %s catches %d of %s, %.0f s", name, caught, count(tried, "wrong lock"), time.Since(started).Seconds()))
			if err := done(); err != nil {
				return err
			}
		}
	}
	return nil
}

// catch tries a wrong lock in a scenario. No runs: it does not fit.
func (f *proveFlags) catch(ctx context.Context, command []string, s *scenarios.Scenario, p *proof.Proof, known scenarios.Catalogs, history string) (proof.Catch, error) {
	c := proof.Catch{Scenario: s.Name}
	uses, err := usesOf([]*proof.Proof{p}, known)
	if err != nil {
		return c, err
	}
	one := *s
	one.Locks, one.Episodes = uses, 1
	if one.Check(known) != nil || (run.Options{}).Fits(&one, run.Simulation()) != nil {
		return c, nil
	}
	c.Runs = f.power
	seen := map[string]int{}
	for _, use := range uses { // the wrong lock comes first
		if use.Name == p.Twin && seen[p.Lock] == 0 {
			break
		}
		for n := range f.power {
			l, _, err := search.Once(ctx, command, trial.NewInput(&one, use, uint64(n+1)), history)
			if errors.Is(err, world.ErrUnsupportedHere) {
				return proof.Catch{}, nil
			}
			if err != nil {
				return c, err
			}
			if proof.Shows(&l, p.Class) {
				seen[use.Name]++
			}
		}
	}
	c.Seen, c.TwinSeen = seen[p.Lock], seen[p.Twin]
	return c, nil
}
