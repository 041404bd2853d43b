package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// This file is what the workloads have in common: turns, and how each ends.

// turns lives a life of turns with a pause after each, until ctx ends or the client
// is gone.
func turns(ctx context.Context, c *Client, turn func(ctx context.Context, c *Client)) {
	for ctx.Err() == nil && !c.Gone() {
		turn(ctx, c)
		pause(ctx, drawn(c, thinkMin, thinkMax))
	}
}

// tryOnce is one turn: it asks, works under what it gets, and always gives it back.
func tryOnce(ctx context.Context, c *Client, a Ask, work func(t *Tenure)) (granted bool) {
	c.Hooks.Begin(ctx)
	defer c.Hooks.End()
	t, err := c.AcquireAs(ctx, a)
	switch {
	case err == nil:
		work(t)
		giveBack(ctx, t)
	case t != nil:
		// Nobody knows whether it was granted, so what may be held is given back.
		_ = t.Release(ctx)
	case errors.Is(err, locks.ErrTaken):
		c.Hooks.Reached(ctx, Moment{Event: "waiting", Client: c.ID, Key: a.Keys[0]})
	}
	return err == nil
}

// giveBack releases, unless the work has done so, and tells so unless the client is gone.
func giveBack(ctx context.Context, t *Tenure) {
	if !t.released {
		_ = t.Release(ctx) // recorded, whatever it was
	}
	if !t.c.Gone() {
		t.Reached(ctx, "released")
	}
}

// within asks for a lock that the calling thread holds already, or may ask for
// because of one that it holds, and gives it back after the work. To steps that wait
// for a moment the outer hold is the one: it is told as entered once more, and the inner
// one not at all. Once an outcome was unknown the thread goes on as somebody else, to
// whom the lock is a stranger's.
func within(ctx context.Context, outer *Tenure, a Ask, work func(t *Tenure)) {
	c := outer.c
	if a.Owner != c.Owner() {
		return
	}
	t, err := c.AcquireAs(ctx, a)
	if err == nil {
		outer.Reached(ctx, "entered")
		work(t)
	}
	if t != nil {
		_ = t.Release(ctx)
	}
}

// started tells that a hold has begun, and returns for how long it is to last.
func (w Params) started(ctx context.Context, c *Client, t *Tenure) (hold time.Duration) {
	hold = drawn(c, w.HoldMin, w.HoldMax)
	if asked := t.Reached(ctx, "acquired"); asked > 0 {
		hold = asked
	}
	return hold
}

// anyKey draws one of the keys.
func (w Params) anyKey(c *Client) string { return w.Keys[c.Rand.IntN(len(w.Keys))] }
