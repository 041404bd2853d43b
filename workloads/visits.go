package workloads

import (
	"context"
	"time"
)

// visits is clients that come, wait, work and stay away for longer than a lease. A lock that
// is asked for all the time hides that it wakes nobody: whoever gives it back asks again
// and has it. Here nobody comes by, and who waits is woken by the release or by nothing:
//
//	client 1  acquire ── hold ── release                            (away)
//	client 2     acquire ─────────────── ok ── hold ── release      (away)
//	client 3       acquire ──────────────────────────── ok
//
// Clients come in small crowds, so that several wait.
var visits = Entry{
	Name:  "visits",
	About: "clients come together, wait their turn, work once and stay away for longer than a lease",
	Needs: []Need{needsWaiting}, Wants: wantsWaiting,
	New: func(p Params) Workload { return visiting{counting{Params: p}} },
}

// visitsMin is how far apart visits are at least, for locks that have no lease.
const visitsMin = time.Second

// visiting is counting, with long pauses.
type visiting struct{ counting }

// Run visits until ctx ends. Visits begin at whole multiples of twice the lease from when
// the client was born, and a crowd that was born together comes together.
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
