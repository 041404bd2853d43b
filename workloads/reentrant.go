package workloads

import "context"

// threadsPerClient is how many threads of one client contend, for locks that tell
// threads apart.
const threadsPerClient = 2

// reentrant is a function that takes a lock and calls another one that takes it as
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
var reentrant = Entry{
	Name:  "reentrant",
	About: "each thread takes a lock that it holds already, gives it back, and counts on still holding it",
	Needs: []Need{needsReentry},
	New:   func(p Params) Workload { return reentering{p} },
}

type reentering struct{ Params }

var _ Threaded = reentering{}

// Threads are strangers to each other.
func (reentering) Threads() int { return threadsPerClient }

// Run calls the function until ctx ends.
func (w reentering) Run(ctx context.Context, c *Client) {
	w.turns(ctx, c, func() { w.turn(ctx, c) })
}

func (w reentering) turn(ctx context.Context, c *Client) {
	first := w.ask(c, w.anyKey(c))
	again := first
	again.Wait = 0
	tryOnce(ctx, c, first, func(outer *Tenure) {
		hold := w.started(ctx, outer)
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
		outer.Reached(ctx, Checked)
		within(ctx, outer, again, func(inner *Tenure) {
			if inner.Check(ctx) == nil {
				_ = inner.Write(ctx, counted+1)
			}
		})
		// Once more: a client that was stopped before its write finds out here.
		_ = outer.Check(ctx)
	})
}
