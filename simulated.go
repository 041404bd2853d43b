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

// patience is the number of looks, one a second, after which a simulated lock must have granted
// something. It counts looks and not time, because a busy machine delays both the run and the looks.
const patience = 30

// errNotSimulated means that a lock waits for something that is not simulated, which cannot be seen from inside.
var errNotSimulated = errors.New("no lock was granted in the simulation, which takes little time: the lock waits for something outside of it; " +
	"open every connection with Client.Store.Dial (go-redis: Dialer)")

// frozenLooks is the number of consecutive looks after which a frozen simulation ends the run. One would be enough in
// theory: no goroutine runs then, and one that waits for a mutex stops virtual time.
const frozenLooks = 5

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

// errFrozen returns an error that says what stops virtual time, and what to do.
func errFrozen(at sim.Standstill, granted bool) error {
	why := at.Told("Try the lock on real servers, with Options.World \"local\"")
	if !granted {
		why += "; or an earlier run of this process is frozen, which keeps others from starting"
	}
	return errors.New(why)
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
