//go:build !wasip1

package lockbench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/world/sim"
)

// patience is how often, once a second, nothing may have been granted by a lock that is
// simulated, which takes next to no time. Looks and not time: a busy machine keeps both from
// going on.
const patience = 30

// errNotSimulated is a lock that waits for what is not simulated: nothing inside can tell.
var errNotSimulated = errors.New("nothing was granted in the simulation, which takes next to no time: the lock waits for something outside of it; " +
	"open every connection with Client.Store.Dial (go-redis: Dialer)")

// frozenLooks is at how many looks in a row the simulation may be frozen. One is enough in
// theory: nobody computes then, and who waits for a mutex keeps time from moving.
const frozenLooks = 5

// simulate runs in virtual time, in this process. A run that does not get anywhere is left
// behind: nobody can end it from outside.
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
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for waited, frozen := 0, 0; ; {
		select {
		case e := <-ended:
			return e.outcome, e.err
		case <-look.C:
		}
		if waited++; waited >= patience && seen.grants.Load() == 0 {
			seen.left.Store(true)
			return nil, errNotSimulated
		}
		at := sim.LookAt()
		if frozen++; !at.Frozen() {
			frozen = 0
		}
		if frozen >= frozenLooks {
			seen.left.Store(true)
			return nil, errFrozen(at, seen.grants.Load() > 0)
		}
	}
}

// errFrozen says what stops virtual time, and what to do.
func errFrozen(at sim.Standstill, granted bool) error {
	why := at.Told("Try the lock on real servers, with Options.World \"local\"")
	if !granted {
		why += "; or it is an earlier run of this process that is frozen, for it lets no other begin"
	}
	return errors.New(why)
}

// granted counts what a run has granted, and passes on what it tells until it is left behind.
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
