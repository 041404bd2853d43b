package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// This file contains the turns that workloads share.

// The default pauses between turns are long enough that many clients do not overload the servers, and short enough that a
// client requests a lock soon after it is free.
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

// lives reports whether there is another turn.
func (c *Client) lives(ctx context.Context) bool { return ctx.Err() == nil && !c.Gone() }

// tryOnce is one turn: it requests a lock, does the work if the lock is granted, and always releases, even if the lock is
// lost or the outcome is unknown.
func tryOnce(ctx context.Context, c *Client, r locks.Request, work func(t *Attempt)) (granted bool) {
	c.Hooks.Begin(ctx)
	defer c.Hooks.End()
	t, err := c.Acquire(ctx, r)
	switch {
	case err == nil:
		work(t)
		giveBack(ctx, t)
	case t != nil:
		// The client may hold the lock, so it releases.
		_ = t.Release(ctx)
	case errors.Is(err, locks.ErrTaken):
		c.Hooks.Reached(ctx, Moment{Event: Waiting, Client: c.ID, Key: r.Keys[0], Mode: r.Mode})
	}
	return err == nil
}

// giveBack releases, unless the work has done so, and reports the event unless the client is gone.
func giveBack(ctx context.Context, t *Attempt) {
	if !t.released {
		_ = t.Release(ctx) // the event is recorded even if it fails
	}
	if !t.c.Gone() {
		t.Reached(ctx, Released)
	}
}

// within requests a lock that depends on one that the calling thread holds, and releases it after the work. Triggers see
// only the outer hold, as entered once more. After an unknown outcome the thread continues as another owner, so there is
// no inner hold.
func within(ctx context.Context, outer *Attempt, r locks.Request, work func(t *Attempt)) {
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

// ask returns a request of the calling thread for one or several keys.
func (w Params) ask(c *Client, keys ...string) locks.Request {
	return locks.Request{Keys: keys, Owner: c.Owner(), TTL: w.TTL, Wait: w.Wait}
}

// anyKey returns a random key.
func (w Params) anyKey(c *Client) string { return w.Keys[c.Rand.IntN(len(w.Keys))] }

// someKeys returns n different keys in random order, or all if there are fewer.
func (w Params) someKeys(c *Client, n int) []string {
	var keys []string
	for _, i := range c.Rand.Perm(len(w.Keys))[:min(n, len(w.Keys))] {
		keys = append(keys, w.Keys[i])
	}
	return keys
}

// started reports the beginning of a hold and returns its length.
func (w Params) started(ctx context.Context, t *Attempt) (hold time.Duration) {
	hold = drawn(t.c, w.HoldMin, w.HoldMax)
	if asked := t.Reached(ctx, Acquired); asked > 0 {
		hold = asked
	}
	return hold
}

// think pauses between two turns.
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
