package workloads

import (
	"context"
	"time"
)

// checkEvery is how often a client checks a lock that it holds for long.
const checkEvery = time.Second

// counting is a workload of clients that count under locks. Each takes a lock, reads its key's counter, holds for a while,
// writes the next number and releases the lock. If two clients hold one lock, one overwrites the count of the other.
//
//	acquire ── check ── read v ── hold (check now and then) ── check ── write v+1 ── release
//	              ▲
//	              event Checked
//
// The fields distinguish the workloads that count.
type counting struct {
	Params
	ownerless bool // requests have no owner; otherwise the owner is the thread
	together  int  // how many keys make one lock; 0: one. The first key selects the counter
	hurried   bool // the client does not pause after a grant
}

var _ Workload = counting{}

// Run counts until ctx ends.
func (w counting) Run(ctx context.Context, c *Client) {
	for c.lives(ctx) {
		if granted := w.turn(ctx, c); !granted || !w.hurried {
			w.think(ctx, c) // a refused client must not retry at once
		}
	}
}

// turn makes one attempt and does the work if it succeeds.
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
	return tryOnce(ctx, c, r, func(t *Attempt) { count(ctx, t, w.started(ctx, t)) })
}

// count reads the counter, holds, and writes the next number. It reports whether the client believes that it holds the
// lock.
func count(ctx context.Context, t *Attempt, hold time.Duration) bool {
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
	// A client that was paused before its write notices the loss here.
	return t.Check(ctx) == nil
}

// stay holds for a while. It reports whether the client believes that it holds the lock.
func stay(ctx context.Context, t *Attempt, hold time.Duration) bool {
	for ; hold > checkEvery && ctx.Err() == nil; hold -= checkEvery {
		pause(ctx, checkEvery)
		if t.Check(ctx) != nil {
			return false
		}
	}
	pause(ctx, hold)
	for n := 1; ctx.Err() == nil && t.holdsOn(); n++ {
		pause(ctx, checkEvery/10)
		if n%10 == 0 && t.Check(ctx) != nil {
			return false
		}
	}
	return t.Check(ctx) == nil
}

// holdsOn reports whether the run asks the client to hold on, and its lease allows it.
func (t *Attempt) holdsOn() bool {
	return t.c.Hooks.HoldsOn(t.Session) && (t.end.IsZero() || time.Until(t.end) > t.spare)
}
