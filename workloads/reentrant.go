package workloads

import "context"

// threadsPerClient is the number of threads of a client for locks that distinguish threads.
const threadsPerClient = 2

// reentrant is a workload in which a function takes a lock and calls another function that takes it too. The outer
// function relies on the lock from beginning to end: no other client counts in between, so the second write does not read
// again.
//
//	outer  acquire ── check ─────────────────── hold ──────────────────── check ── release
//	inner      acquire ── read v ── write v+1 ── release   acquire ── write v+2 ── release
//	                                             ▲
//	               a lock that ends with the first release admits another client here
//
// Each client has two threads that compete. A lock that identifies clients but not threads admits one thread to a lock
// that the other holds.
var reentrant = Entry{
	Name:  "reentrant",
	About: "each thread takes a lock that it already holds, releases it once, and relies on still holding it",
	Needs: []Need{needsReentry},
	New:   func(p Params) Workload { return reentering{p} },
}

type reentering struct{ Params }

var _ Threaded = reentering{}

// Threads returns 2: the threads of a client compete.
func (reentering) Threads() int { return threadsPerClient }

// Run calls the function until ctx ends.
func (w reentering) Run(ctx context.Context, c *Client) {
	w.turns(ctx, c, func() { w.turn(ctx, c) })
}

func (w reentering) turn(ctx context.Context, c *Client) {
	first := w.ask(c, w.anyKey(c))
	again := first
	again.Wait = 0
	tryOnce(ctx, c, first, func(outer *Attempt) {
		hold := w.started(ctx, outer)
		if outer.Check(ctx) != nil {
			return
		}
		var counted int64
		within(ctx, outer, again, func(inner *Attempt) {
			value, err := inner.Read(ctx)
			if err == nil && inner.Check(ctx) == nil && inner.Write(ctx, value+1) == nil {
				counted = value + 1
			}
		})
		if !stay(ctx, outer, hold) || counted == 0 {
			return
		}
		outer.Reached(ctx, Checked)
		within(ctx, outer, again, func(inner *Attempt) {
			if inner.Check(ctx) == nil {
				_ = inner.Write(ctx, counted+1)
			}
		})
		// A client that was paused before its write notices the loss here.
		_ = outer.Check(ctx)
	})
}
