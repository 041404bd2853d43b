package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lockbench/internal/matrix"
)

// Place is a world to run in.
type Place struct {
	World, About string
	// Missing says why the world cannot be used on this machine; then there is no Do.
	Missing string
	Plan    []matrix.Part // with the number of runs of each
	Do      matrix.Do
}

// Work is how an acceptance is run.
type Work struct {
	Expect Expect
	// Budget is how long it may take. The worlds share what is left of it evenly, in
	// their order: what one does not need the next ones have. 0: as long as it takes.
	Budget time.Duration
	Say    func(line string)

	now func() time.Time // for tests
}

// Run does what is missing of the acceptance in dir and writes what came out. A failure
// in one world is told and does not keep the others from being tried.
func Run(ctx context.Context, dir string, places []Place, w Work) (*Acceptance, error) {
	s, err := ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	if w.now == nil {
		w.now = time.Now
	}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	ready := 0
	for _, p := range places {
		if p.Missing == "" {
			ready++
		}
	}
	begun := w.now()
	a := &Acceptance{Settings: s, Dir: dir}
	var failures []error
	for _, p := range places {
		var share time.Duration
		spent := false
		if p.Missing == "" && w.Budget > 0 {
			share = ((w.Budget - w.now().Sub(begun)) / time.Duration(ready)).Round(time.Second) // people read it
			spent = share <= 0
			ready--
		}
		m, err := p.run(ctx, dir, s, share, spent, w)
		if err != nil {
			failures = append(failures, fmt.Errorf("world %s: %w", p.World, err))
		}
		a.Worlds = append(a.Worlds, worldOf(p, m, w.Expect, err))
	}
	return a, errors.Join(errors.Join(failures...), a.write())
}

// run is what came out in a world, nil if nothing ever ran there.
func (p *Place) run(ctx context.Context, dir string, s Settings, share time.Duration, spent bool, w Work) (*matrix.Matrix, error) {
	into := filepath.Join(dir, p.World)
	begun := matrix.Is(into)
	switch {
	case p.Missing != "" && !begun:
		w.Say(fmt.Sprintf("world %s: not run: %s", p.World, p.Missing))
		return nil, nil
	case p.Missing != "":
		// What ran there before counts, and what did not is missing for this reason.
		w.Say(fmt.Sprintf("world %s: not continued: %s", p.World, p.Missing))
		return matrix.Finish(into, w.Expect.Whole, p.Missing)
	case !begun:
		if err := os.MkdirAll(into, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of a world: %w", err)
		}
		if err := matrix.Begin(into, matrix.Settings{
			Scenarios: s.Scenarios, World: p.World, About: p.About, Seed: s.Seed, Started: s.Started, Program: s.Program, Machine: s.Machine,
			Again: s.Again, Plan: p.Plan,
		}); err != nil {
			return nil, err
		}
	}
	if spent {
		return matrix.Finish(into, w.Expect.Whole, fmt.Sprintf("the budget of %s was spent before its turn", w.Budget))
	}
	return matrix.Run(ctx, into, matrix.Work{
		Do: p.Do, Expects: w.Expect.Whole, Budget: share, Now: w.now,
		Say: func(line string) { w.Say(p.World + " " + line) },
	})
}
