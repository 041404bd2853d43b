package workloads

import "context"

// Watchdog holds for longer than the lease lasts. It asks for none, so the lock has
// to keep its own one alive for as long as the work takes:
//
//	acquire ── read v ──────────────── hold, checking now and then ─── write v+1 ── release
//	lease   ├────────┤
//	            ├────────┤  renewed
//	                ├────────┤                    ...
//
// The scenario makes the lock's lease short (redisson/watchdog=900ms) and the hold
// longer than that.
type Watchdog struct{ Params }

var _ Workload = Watchdog{}

// Name is what scenarios call it.
func (Watchdog) Name() string { return "watchdog" }

// About is a line for people.
func (Watchdog) About() string {
	return "each client works for longer than the lock's lease, which renewal must carry"
}

// Run works until ctx ends.
func (w Watchdog) Run(ctx context.Context, c *Client) {
	turns(ctx, c, func(ctx context.Context, c *Client) {
		a := Ask{Keys: []string{w.anyKey(c)}, Owner: c.Owner(), Wait: w.Wait}
		tryOnce(ctx, c, a, func(t *Tenure) { count(ctx, t, w.started(ctx, c, t)) })
	})
}
