package workloads

import (
	"context"
	"time"
)

// visits is a workload of clients that come, wait, work and stay away for longer than a lease. With frequent requests, a
// lock that never wakes waiters still works, because some client retries. Here a waiter depends on the release:
//
//	client 1  acquire ── hold ── release                            (away)
//	client 2     acquire ─────────────── ok ── hold ── release      (away)
//	client 3       acquire ──────────────────────────── ok
//
// Clients come in small groups, so that several wait.
var visits = Entry{
	Name:  "visits",
	About: "clients come together, wait, work once and stay away for longer than a lease",
	Needs: []Need{needsWaiting}, Wants: wantsWaiting,
	New: func(p Params) Workload { return visiting{counting{Params: p}} },
}

// visitsMin is the least time between visits, for locks without a lease.
const visitsMin = time.Second

// visiting is counting with long pauses.
type visiting struct{ counting }

// Run visits until ctx ends. Visits begin at multiples of twice the lease since the start of the client, so that clients
// that started together come together.
func (w visiting) Run(ctx context.Context, c *Client) {
	born := time.Now()
	every := max(2*w.TTL, visitsMin)
	for c.lives(ctx) {
		w.turn(ctx, c)
		w.think(ctx, c)
		away := every - time.Since(born)%every
		pause(ctx, away+drawn(c, 0, ThinkMax))
	}
}
