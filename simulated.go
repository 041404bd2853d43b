//go:build !wasip1

package lockbench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
)

// patience is how often, once a second, nothing may have been granted by a lock that is
// simulated, which takes next to no time. Looks and not time: a busy machine keeps both from
// going on.
const patience = 30

// errNotSimulated is a lock that waits for what is not simulated: nothing inside can tell.
var errNotSimulated = errors.New("nothing was granted in the simulation, which takes next to no time: the lock waits for something outside of it; " +
	"open every connection with Client.Store.Dial (go-redis: Dialer)")

// simulate runs in virtual time, in this process. A run that does not get anywhere is left
// behind: nobody can end it from outside.
func simulate(ctx context.Context, o run.Options, observer run.Observer) (*run.Outcome, error) {
	type end struct {
		outcome *run.Outcome
		err     error
	}
	seen := &granted{Observer: observer}
	ended := make(chan end, 1)
	go func() {
		outcome, err := run.Run(ctx, o, seen)
		ended <- end{outcome, err}
	}()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for waited := 0; ; {
		select {
		case e := <-ended:
			return e.outcome, e.err
		case <-look.C:
		}
		if waited++; waited >= patience && seen.grants.Load() == 0 {
			seen.left.Store(true)
			return nil, errNotSimulated
		}
	}
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
