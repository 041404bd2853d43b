package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockbench/internal/proof"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/search"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// proving is a prove in virtual time. There each lock's trial is a process of its own, and
// what it shows depends on nobody beside it: so no run is made of them, each twin is tried
// once for all the locks that it is the twin of, and a wrong lock gets one episode first,
// and as many as its scenario says if that has not shown its class.
type proving struct {
	*proveFlags
	command []string
	dir     string // for histories
	say     func(string)
	done    func() error

	mu      sync.Mutex
	stories map[string][]string
}

// aTrial is one lock of a scenario with one seed.
type aTrial struct {
	scenario *scenarios.Scenario
	use      scenarios.LockUse
	seed     uint64
	proofs   []*proof.Proof // whose twin it is
	of       *proof.Proof   // whose wrong lock it is; nil: it is a twin
}

// inTrials does all trials, and calls done whenever a wrong lock has been through all seeds.
func (f *proveFlags) inTrials(ctx context.Context, w world.Enclosing, proofs []*proof.Proof, say func(string), done func() error) (map[string][]string, error) {
	dir, err := os.MkdirTemp("", "lockbench-prove-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for histories: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p := &proving{proveFlags: f, command: w.Enclosure(), dir: dir, say: say, done: done, stories: map[string][]string{}}
	for _, name := range scenariosOf(proofs) {
		shown := slices.DeleteFunc(slices.Clone(proofs), func(p *proof.Proof) bool { return p.Scenario != name })
		started := time.Now()
		if err := p.scenario(ctx, name, shown); err != nil {
			return nil, err
		}
		if len(proofs) > 1 || f.seeds > 1 {
			say(" " + lineOf(name, shown, f.seeds, time.Since(started)))
		}
		if err := done(); err != nil {
			return nil, err
		}
	}
	return p.stories, nil
}

// lineOf says how far a prove is, with what a scenario has not shown in each run.
func lineOf(name string, shown []*proof.Proof, seeds int, took time.Duration) string {
	missed := ""
	for _, p := range shown {
		if p.Seen < p.Runs {
			missed += fmt.Sprintf(", %s in %d", p.Lock, p.Seen)
		}
	}
	if missed == "" {
		missed = ", all seen in each"
	}
	return fmt.Sprintf("%s, %s, %s%s, %.0f s", name, count(len(shown), "wrong lock"), count(seeds, "seed"), missed, took.Seconds())
}

// scenario does the trials of one scenario, as many at once as there are processors.
func (p *proving) scenario(ctx context.Context, name string, shown []*proof.Proof) error {
	known := scenarios.AllCatalogs()
	s, err := scenarios.Load(name, known)
	if err != nil {
		return err
	}
	uses, err := usesOf(shown, known)
	if err != nil {
		return err
	}
	s = p.longEnough(s, shown)
	return sideBySide(ctx, trialsOf(s, uses, shown, p.seeds, max(p.seeds, p.twinSeeds)), p.dir, func(t aTrial, history string) error {
		if err := p.try(ctx, t, history); err != nil {
			return fmt.Errorf("%s, %s, seed %d: %w", name, t.use.Name, t.seed, err)
		}
		return nil
	})
}

// sideBySide does all, as many at once as there are processors, each with a file for a
// history that is its own meanwhile. When ctx ends, nothing more is begun.
func sideBySide[T any](ctx context.Context, all []T, dir string, do func(one T, history string) error) error {
	next := make(chan T)
	errs := make([]error, runtime.NumCPU())
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			for one := range next {
				errs[i] = errors.Join(errs[i], do(one, filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))))
			}
		})
	}
	for _, one := range all {
		if ctx.Err() != nil {
			break
		}
		next <- one
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// trialsOf are the trials of a scenario: of each twin and of each wrong lock one a seed. Twins
// come first, so that a wrong lock is through when its own seeds are.
func trialsOf(s *scenarios.Scenario, uses []scenarios.LockUse, shown []*proof.Proof, seeds, twinSeeds int) []aTrial {
	var all, wrong []aTrial
	for _, use := range uses {
		twins := slices.DeleteFunc(slices.Clone(shown), func(p *proof.Proof) bool { return p.Twin != use.Name })
		if len(twins) > 0 {
			for seed := range twinSeeds {
				all = append(all, aTrial{s, use, uint64(seed + 1), twins, nil})
			}
			continue
		}
		i := slices.IndexFunc(shown, func(p *proof.Proof) bool { return p.Lock == use.Name })
		if shown[i].Through {
			continue
		}
		for seed := range seeds {
			wrong = append(wrong, aTrial{s, use, uint64(seed + 1), nil, shown[i]})
		}
	}
	return append(all, wrong...)
}

// try does a trial and counts it.
func (p *proving) try(ctx context.Context, t aTrial, history string) error {
	started := time.Now()
	in := trial.NewInput(t.scenario, t.use, t.seed)
	if t.of != nil {
		in.Episodes = 1
	}
	l, story, err := search.Once(ctx, p.command, in, history)
	if err == nil && t.of != nil && !proof.Shows(&l, t.of.Class) && t.scenario.Episodes > 1 {
		in.Episodes = t.scenario.Episodes
		l, story, err = search.Once(ctx, p.command, in, history)
	}
	if err != nil {
		l = report.Lock{Lock: t.use.Name, Error: err.Error()}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.Lock = t.use.Name
	l.Expected, l.AsExpected, l.Mismatch = run.Expects(t.scenario, &l)
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.of == nil {
		for _, of := range t.proofs {
			of.AddTwin(&l, t.seed)
		}
		return nil
	}
	t.of.Seconds += time.Since(started).Seconds()
	if t.of.AddWrong(&l, t.seed) && (p.stories[t.of.Lock] == nil || t.of.First == t.seed) {
		p.stories[t.of.Lock] = story
	}
	if t.of.Runs == p.seeds {
		return p.done()
	}
	return nil
}
