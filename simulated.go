//go:build !wasip1

package lockbench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
)

// simulate runs in virtual time, in this process. It abandons a run that does not proceed, because
// goroutines cannot be ended from outside.
func simulate(ctx context.Context, job *run.Job, observer run.Observer) (*run.Outcome, error) {
	type end struct {
		outcome *run.Outcome
		err     error
	}
	seen := &granted{Observer: observer}
	ended := make(chan end, 1)
	go func() {
		outcome, err := job.Run(ctx, seen)
		ended <- end{outcome, err}
	}()
	look := time.NewTicker(trial.LookEvery)
	defer look.Stop()
	moved := job.World.(interface{ Moved() int64 })
	for watch := (trial.Watch{}); ; {
		select {
		case e := <-ended:
			return e.outcome, e.err
		case <-look.C:
		}
		grants := seen.grants.Load()
		why := watch.Look(moved.Moved()+grants, "Try the lock on real servers, with Options.World \"local\"")
		if why == "" {
			continue
		}
		seen.left.Store(true)
		if grants == 0 {
			why += "; or an earlier run of this process is frozen, which keeps others from starting"
		}
		return nil, errors.New(why)
	}
}

// granted counts the grants of a run, and forwards its progress until the run is abandoned.
type granted struct {
	run.Observer
	grants atomic.Int64
	left   atomic.Bool
}

func (g *granted) Tick(t report.Tick) {
	g.grants.Store(int64(t.Grants))
	if !g.left.Load() {
		g.Observer.Tick(t)
	}
}
