package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// The pauses between tries, drawn anew each time: long enough that many clients do
// not make the servers the bottleneck, short enough that a lock which falls free
// is asked for at once.
const (
	thinkMin = 2 * time.Millisecond
	thinkMax = 15 * time.Millisecond
)

// checkEvery is how often a client that holds long makes sure that it still does.
const checkEvery = time.Second

// Counter lets every client count: take the lock of a key, read the key's counter,
// hold for a while, write the number that comes next, give the lock back. If two
// hold one lock, one of them overwrites what the other has counted.
//
//	acquire ── check ── read v ── hold (check now and then) ── check ── write v+1 ── release
//	                                                                 ▲
//	                                           here the moment `checked` is reached
type Counter struct{ Params }

var _ Workload = Counter{}

// Name is what scenarios call it.
func (Counter) Name() string { return "counter" }

// About is a line for people.
func (Counter) About() string {
	return "each client takes a key's lock, reads its counter, holds for a while, writes the next number, releases"
}

// Run counts until ctx ends.
func (w Counter) Run(ctx context.Context, c *Client) {
	for ctx.Err() == nil && !c.Gone() {
		w.turn(ctx, c)
		pause(ctx, drawn(c, thinkMin, thinkMax))
	}
}

// turn is one try, and the work if it succeeds.
func (w Counter) turn(ctx context.Context, c *Client) {
	c.Hooks.Begin(ctx)
	defer c.Hooks.End()
	key := w.Keys[c.Rand.IntN(len(w.Keys))]
	t, err := c.Acquire(ctx, key, w.TTL, w.Wait)
	switch {
	case err == nil:
		w.work(ctx, c, t)
	case t != nil:
		// Nobody knows whether it was granted, so what may be held is given back.
		_ = t.Release(ctx)
	case errors.Is(err, locks.ErrTaken):
		c.Hooks.Reached(ctx, Moment{Event: "waiting", Client: c.ID, Key: key})
	}
}

// work is one tenure. It always ends in a release, as a careful program's would:
// a client that has found out that it lost the lock still gives back what may be left.
func (w Counter) work(ctx context.Context, c *Client, t *Tenure) {
	hold := drawn(c, w.HoldMin, w.HoldMax)
	if asked := t.Reached(ctx, "acquired"); asked > 0 {
		hold = asked
	}
	count(ctx, t, hold)
	_ = t.Release(ctx) // recorded, whatever it was
	if !c.Gone() {
		t.Reached(ctx, "released")
	}
}

// count reads the counter, holds, and writes the next number.
func count(ctx context.Context, t *Tenure, hold time.Duration) {
	if t.Check(ctx) != nil {
		return
	}
	value, err := t.Read(ctx)
	if err != nil || !stay(ctx, t, hold) {
		return
	}
	t.Reached(ctx, "checked")
	if t.Write(ctx, value+1) != nil {
		return
	}
	// Once more: a client that was stopped before its write finds out here.
	_ = t.Check(ctx)
}

// stay holds for a while, and says whether the client still believes that it holds.
func stay(ctx context.Context, t *Tenure, hold time.Duration) bool {
	for ; hold > checkEvery && ctx.Err() == nil; hold -= checkEvery {
		pause(ctx, checkEvery)
		if t.Check(ctx) != nil {
			return false
		}
	}
	pause(ctx, hold)
	return t.Check(ctx) == nil
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
