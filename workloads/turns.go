package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// This file is what the workloads have in common: turns, and how each ends.

// The default pauses between turns: long enough that many clients do not make the servers
// the bottleneck, short enough that a client asks for a lock soon after it is free.
const (
	ThinkMin = 2 * time.Millisecond
	ThinkMax = 15 * time.Millisecond
)

// turns repeats a turn, with a pause after each, until ctx ends or the client is gone.
func (p Params) turns(ctx context.Context, c *Client, turn func()) {
	for c.lives(ctx) {
		turn()
		p.think(ctx, c)
	}
}

// lives tells whether there is another turn: until ctx ends or the client is gone.
func (c *Client) lives(ctx context.Context) bool { return ctx.Err() == nil && !c.Gone() }

// tryOnce is one turn: it asks, works under what it gets, and always gives it back,
// as a careful program does: also what it has found out to be lost, or may hold
// without knowing.
func tryOnce(ctx context.Context, c *Client, r locks.Request, work func(t *Tenure)) (granted bool) {
	c.Hooks.Begin(ctx)
	defer c.Hooks.End()
	t, err := c.Acquire(ctx, r)
	switch {
	case err == nil:
		work(t)
		giveBack(ctx, t)
	case t != nil:
		// Nobody knows whether it was granted, so what may be held is given back.
		_ = t.Release(ctx)
	case errors.Is(err, locks.ErrTaken):
		c.Hooks.Reached(ctx, Moment{Event: Waiting, Client: c.ID, Key: r.Keys[0]})
	}
	return err == nil
}

// giveBack releases, unless the work has done so, and tells so unless the client is gone.
func giveBack(ctx context.Context, t *Tenure) {
	if !t.released {
		_ = t.Release(ctx) // recorded, whatever it was
	}
	if !t.c.Gone() {
		t.Reached(ctx, Released)
	}
}

// within asks for a lock that the calling thread holds already, or may ask for
// because of one that it holds, and gives it back after the work. To steps that wait
// for a moment the outer hold is the one: it is told as entered once more, and the inner
// one not at all. Once an outcome was unknown the thread goes on as somebody else, to
// whom the lock is a stranger's.
func within(ctx context.Context, outer *Tenure, r locks.Request, work func(t *Tenure)) {
	c := outer.c
	if r.Owner != c.Owner() {
		return
	}
	t, err := c.Acquire(ctx, r)
	if err == nil {
		outer.Reached(ctx, Entered)
		work(t)
	}
	if t != nil {
		_ = t.Release(ctx)
	}
}

// ask is a request of the calling thread for a key, or for several together.
func (w Params) ask(c *Client, keys ...string) locks.Request {
	return locks.Request{Keys: keys, Owner: c.Owner(), TTL: w.TTL, Wait: w.Wait}
}

// anyKey draws one of the keys.
func (w Params) anyKey(c *Client) string { return w.Keys[c.Rand.IntN(len(w.Keys))] }

// someKeys draws n different keys, or all if there are no more, in a drawn order.
func (w Params) someKeys(c *Client, n int) []string {
	var keys []string
	for _, i := range c.Rand.Perm(len(w.Keys))[:min(n, len(w.Keys))] {
		keys = append(keys, w.Keys[i])
	}
	return keys
}

// started tells that a hold has begun, and returns for how long it is to last.
func (w Params) started(ctx context.Context, t *Tenure) (hold time.Duration) {
	hold = drawn(t.c, w.HoldMin, w.HoldMax)
	if asked := t.Reached(ctx, Acquired); asked > 0 {
		hold = asked
	}
	return hold
}

// think is the pause between two turns.
func (p Params) think(ctx context.Context, c *Client) {
	from, to := p.ThinkMin, p.ThinkMax
	if to == 0 {
		from, to = ThinkMin, ThinkMax
	}
	pause(ctx, drawn(c, from, to))
}

func drawn(c *Client, from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(c.Rand.Int64N(int64(to-from)+1))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
