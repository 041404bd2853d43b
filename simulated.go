//go:build !wasip1

package lockbench

import (
	"context"
	"errors"
	"sync/atomic"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/virtual/child"
)

// simulate runs in virtual time, in this process. It abandons a run that does not proceed, because
// goroutines cannot be ended from outside.
func simulate(ctx context.Context, job *run.Job, show func(report.Tick)) (*run.Outcome, error) {
	type end struct {
		outcome *run.Outcome
		err     error
	}
	var grants atomic.Int64
	var left atomic.Bool
	moved := job.World.(interface{ Moved() int64 })
	e, why := child.Watched(func() end {
		outcome, err := job.Run(ctx, func(t report.Tick) {
			grants.Store(int64(t.Grants))
			if show != nil && !left.Load() {
				show(t)
			}
		})
		return end{outcome, err}
	}, func() int64 { return moved.Moved() + grants.Load() }, "Try the lock on real servers, with Options.World \"local\"")
	if why == "" {
		return e.outcome, e.err
	}
	left.Store(true) // the run may go on, and its progress is not shown
	if grants.Load() == 0 {
		why += "; or an earlier run of this process is frozen, which keeps others from starting"
	}
	return nil, errors.New(why)
}
