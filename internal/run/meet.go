package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// met is a lock of a run before anything is started for it.
type met struct {
	subject *trial.Subject
	err     error // why it cannot take part
}

// meet settles what can be settled of each lock before a server is started. It asks all
// guests at once who they are: whoever gave the wrong command need not wait for the other
// locks to hear of it, and that ends the run.
func meet(ctx context.Context, o Options, s *scenarios.Scenario) ([]met, error) {
	all := make([]met, len(s.Locks))
	var wg sync.WaitGroup
	for i, use := range s.Locks {
		wg.Go(func() {
			all[i].subject, all[i].err = o.subject(s, use)
			if all[i].err == nil {
				all[i].err = trial.Introduce(ctx, o.World, all[i].subject, s)
			}
			if all[i].err == nil && !o.NoFaults {
				all[i].err = nemesis.Spares(s.Faults, o.World.Sketch(all[i].subject.Spec))
			}
		})
	}
	wg.Wait()
	var errs []error
	for i, use := range s.Locks {
		if err := all[i].err; err != nil && use.Own() && ctx.Err() == nil && !errors.Is(err, world.ErrUnsupportedHere) {
			errs = append(errs, fmt.Errorf("%s: %w", use.Name, err))
		}
	}
	return all, errors.Join(errs...)
}

// subject is a lock with what opens its clients.
func (o Options) subject(s *scenarios.Scenario, use scenarios.LockUse) (*trial.Subject, error) {
	var opener *trial.Opener
	switch {
	case use.Own():
	case use.Use == "":
		opener = o.Opener
	case o.InProcess:
		entry, ok := catalog.Find(use.Use)
		if !ok {
			return nil, catalog.NotFound(use.Use)
		}
		open, err := entry.New(use.Options)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", use.Name, err)
		}
		opener = &trial.Opener{Card: entry.Card, Open: open}
	}
	return trial.NewSubject(s, use, opener)
}
