package lockbench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
)

// stillLooks is how often in a row, once a second, the simulated clock must be seen to
// stand still before the first grant. Looks and not time: a busy machine keeps both from
// going on.
const stillLooks = 20

// errStill is a lock that waits for what is not simulated: nothing inside can tell.
var errStill = errors.New("the simulated clock stands still and nothing was granted: the lock waits for something outside of the simulation; " +
	"open every connection with Client.Store.Dial (go-redis: Dialer)")

// clock is a world whose time is simulated.
type clock interface{ Moved() int64 }

// simulate runs in virtual time, in this process. A run that stands still is left behind:
// nobody can end it from outside.
func simulate(ctx context.Context, c clock, o run.Options, observer run.Observer) (*run.Outcome, error) {
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
	moved, still := c.Moved(), 0
	for {
		select {
		case e := <-ended:
			return e.outcome, e.err
		case <-look.C:
		}
		if now := c.Moved(); now != moved || seen.grants.Load() > 0 {
			moved, still = now, 0
		} else if still++; still >= stillLooks {
			seen.left.Store(true)
			return nil, errStill
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
