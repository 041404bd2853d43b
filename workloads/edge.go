package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// edge is a workload of clients that use their whole leases. Each works in pieces until the end of the lease that the lock
// reported, releases the lock and takes it again:
//
//	acquire ── check ── read v ── write v+1 ── check ── ... ── check ── read ── write ─┬ release
//	lease   ├──────────────────────────────────────────────────────────────────────────┤
//	                                                             the next waits here ──┘
//
// If a lock reports a longer lease than its servers keep, the holder still writes when the next holder comes. Leases have
// several lengths up to the ttl, and every second hold extends its lease half-way if the lock can do that. With fewer
// keys than clients, a client always waits. The hold is the duration of a piece of work. Leases
// whose end is not reported count from the answer. A lock without leases is held for one piece.
var edge = Entry{
	Name:  "edge",
	About: "each client works until the end of the lease that the lock reported, then takes a new one",
	Wants: wantsTTL,
	New:   func(p Params) Workload { return onEdge{p} },
}

// onEdge is the workload of [edge].
type onEdge struct{ Params }

// edgeShares are the lengths of leases, as shares of the ttl.
var edgeShares = []float64{0.5, 0.75, 1}

// edgeMargin is the unused rest of a lease. It is long enough for a write on a busy machine, and much shorter than the
// delays of answers in scenarios.
const edgeMargin = 50 * time.Millisecond

// Run works until ctx ends.
func (w onEdge) Run(ctx context.Context, c *Client) {
	extends := true // until the lock reports that it cannot extend leases
	w.turns(ctx, c, func() {
		r := w.ask(c, w.anyKey(c))
		r.TTL = time.Duration(edgeShares[c.Rand.IntN(len(edgeShares))] * float64(w.TTL))
		extend := c.Rand.IntN(2) == 0
		tryOnce(ctx, c, r, func(t *Attempt) {
			if t.end.IsZero() {
				count(ctx, t, w.started(ctx, t))
				return
			}
			hold := w.started(ctx, t)
			if extend && extends {
				if !w.work(ctx, t, hold, r.TTL/2) {
					return
				}
				switch err := t.Renew(ctx, r.TTL); {
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

// work counts until only left remains of the lease. It reports whether the client believes that it holds the lock. The
// last piece takes the rest of the time.
func (w onEdge) work(ctx context.Context, t *Attempt, piece, left time.Duration) bool {
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
