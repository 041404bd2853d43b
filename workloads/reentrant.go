package workloads

import "context"

// threadsPerClient is how many threads of one client contend, for locks that tell
// threads apart.
const threadsPerClient = 2

// Reentrant is a function that takes a lock and calls another one that takes it as
// well, as happens when code that locks is put together. The outer function counts on
// the lock from beginning to end: nobody else counts in between, so the second write
// need not read again.
//
//	outer  acquire ── check ─────────────────── hold ──────────────────── check ── release
//	inner      acquire ── read v ── write v+1 ── release   acquire ── write v+2 ── release
//	                                                 ▲
//	               a lock that is over with the first release lets somebody in here
//
// Each client has two threads, which are strangers to each other: a lock that knows
// clients and not threads lets one into what the other holds.
type Reentrant struct{ Params }

var _ Workload = Reentrant{}

// Name is what scenarios call it.
func (Reentrant) Name() string { return "reentrant" }

// About is a line for people.
func (Reentrant) About() string {
	return "each thread takes a lock that it holds already, gives it back, and counts on still holding it"
}

// Run calls the function until ctx ends.
func (w Reentrant) Run(ctx context.Context, c *Client) {
	c.Threads(threadsPerClient, func(thread *Client) { turns(ctx, thread, w.turn) })
}

func (w Reentrant) turn(ctx context.Context, c *Client) {
	key := w.anyKey(c)
	again := Ask{Keys: []string{key}, Owner: c.Owner(), TTL: w.TTL}
	first := again
	first.Wait = w.Wait
	tryOnce(ctx, c, first, func(outer *Tenure) {
		hold := w.started(ctx, c, outer)
		if outer.Check(ctx) != nil {
			return
		}
		var counted int64
		within(ctx, outer, again, func(inner *Tenure) {
			value, err := inner.Read(ctx)
			if err == nil && inner.Check(ctx) == nil && inner.Write(ctx, value+1) == nil {
				counted = value + 1
			}
		})
		if !stay(ctx, outer, hold) || counted == 0 {
			return
		}
		outer.Reached(ctx, "checked")
		within(ctx, outer, again, func(inner *Tenure) {
			if inner.Check(ctx) == nil {
				_ = inner.Write(ctx, counted+1)
			}
		})
		// Once more: a client that was stopped before its write finds out here.
		_ = outer.Check(ctx)
	})
}
