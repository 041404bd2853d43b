package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// edge is clients that use their leases up. Each works piece by piece until the end of the
// lease that it was told, gives the lock back there, and goes on to a new one:
//
//	acquire ── check ── read v ── write v+1 ── check ── ... ── check ── read ── write ─┬ release
//	lease   ├──────────────────────────────────────────────────────────────────────────┤
//	                                                              the next waits here ──┘
//
// A lock that tells its holder of more than its servers keep has a holder who still
// writes when the next one comes. Leases are of several lengths, up to the ttl, and every
// second tenure asks for more time half-way, if its lock can do that. With fewer keys than
// clients, somebody always waits. The hold is how long a piece of work takes; a lock that
// tells of no end is held for one piece.
var edge = Entry{
	Name:  "edge",
	About: "each client works until the very end of the lease that it was told, then takes a new one",
	Wants: wantsTTL,
	New:   func(p Params) Workload { return onEdge{p} },
}

// onEdge is the workload of [edge].
type onEdge struct{ Params }

// edgeShares are the lengths of leases, as shares of the ttl.
var edgeShares = []float64{0.5, 0.75, 1}

// edgeMargin is how long before its end a lease is not used any more: long enough that a
// write which is begun before is done in time on a busy machine, and much shorter than
// what a scenario makes answers late by.
const edgeMargin = 50 * time.Millisecond

// Run uses up leases until ctx ends.
func (w onEdge) Run(ctx context.Context, c *Client) {
	extends := true // until the lock says that it cannot
	w.turns(ctx, c, func() {
		r := w.ask(c, w.anyKey(c))
		r.TTL = time.Duration(edgeShares[c.Rand.IntN(len(edgeShares))] * float64(w.TTL))
		extend := c.Rand.IntN(2) == 0
		tryOnce(ctx, c, r, func(t *Tenure) {
			if t.end.IsZero() {
				count(ctx, t, w.started(ctx, t))
				return
			}
			hold := w.started(ctx, t)
			if extend && extends {
				if !w.work(ctx, t, hold, r.TTL/2) {
					return
				}
				switch err := t.Extend(ctx, r.TTL); {
				case errors.Is(err, locks.ErrUnsupported):
					extends = false
				case err != nil:
					return
				}
			}
			w.work(ctx, t, hold, 0)
		})
	})
}

// work counts again and again until only so much of the lease is left, and tells whether
// the client still believes that it holds. The last piece is as long as there is time.
func (w onEdge) work(ctx context.Context, t *Tenure, piece, left time.Duration) bool {
	for ctx.Err() == nil {
		rest := time.Until(t.end) - left - edgeMargin
		if rest <= 0 {
			return true
		}
		if !count(ctx, t, min(piece, rest)) {
			return false
		}
	}
	return false
}
