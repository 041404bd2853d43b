package workloads

import (
	"context"
	"time"
)

// checkEvery is how often a client that holds long makes sure that it still does.
const checkEvery = time.Second

// counting is clients that count under locks: each takes a lock, reads its key's counter,
// holds for a while, writes the number that comes next, gives the lock back. If two
// hold one lock, one of them overwrites what the other has counted.
//
//	acquire ── check ── read v ── hold (check now and then) ── check ── write v+1 ── release
//	                                                                 ▲
//	                                           here the moment Checked is reached
//
// The settings are what tells the workloads that count from each other.
type counting struct {
	Params
	ownerless bool // nobody in particular asks; else the calling thread does
	together  int  // how many keys make one lock; 0: one. It counts on the first of them
	hurried   bool // after a grant the client asks again at once, without thinking
}

var _ Workload = counting{}

// Run counts until ctx ends.
func (w counting) Run(ctx context.Context, c *Client) {
	for c.lives(ctx) {
		if granted := w.turn(ctx, c); !granted || !w.hurried {
			w.think(ctx, c) // a client that was refused must not ask again at once
		}
	}
}

// turn is one try, and the work if it succeeds.
func (w counting) turn(ctx context.Context, c *Client) (granted bool) {
	var keys []string
	if w.together > 1 {
		keys = w.someKeys(c, w.together)
	} else {
		keys = append(keys, w.anyKey(c))
	}
	r := w.ask(c, keys...)
	if w.ownerless {
		r.Owner = ""
	}
	return tryOnce(ctx, c, r, func(t *Tenure) { count(ctx, t, w.started(ctx, t)) })
}

// count reads the counter, holds, and writes the next number. It says whether the client
// still believes that it holds.
func count(ctx context.Context, t *Tenure, hold time.Duration) bool {
	if t.Check(ctx) != nil {
		return false
	}
	value, err := t.Read(ctx)
	if err != nil || !stay(ctx, t, hold) {
		return false
	}
	t.Reached(ctx, Checked)
	if t.Write(ctx, value+1) != nil {
		return false
	}
	// Once more: a client that was stopped before its write finds out here.
	return t.Check(ctx) == nil
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
