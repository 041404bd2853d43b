package workloads

import "context"

// Fair is clients that queue for a lock. Each waits as long as it takes, within the
// scenario's patience, counts, and queues again.
//
// Who came first only the lock knows: a request may be held up on its way, and
// whoever asks later may be there before it. A lock that claims to be fair says when
// it has put somebody into its queue (locks.Request.Queued), the run writes that down,
// and whoever asks only after that must be served later:
//
//	client 1  acquire ────── in the queue ───────────────── ok
//	client 2                               acquire ── ok           overtaken
type Fair struct{ Params }

var _ Workload = Fair{}

// Name is what scenarios call it.
func (Fair) Name() string { return "fair" }

// About is a line for people.
func (Fair) About() string {
	return "clients queue for a lock; who is known to be queued must be served before those who ask later"
}

// Run queues until ctx ends.
func (w Fair) Run(ctx context.Context, c *Client) {
	turns(ctx, c, func(ctx context.Context, c *Client) {
		a := Ask{Keys: []string{w.anyKey(c)}, Owner: c.Owner(), TTL: w.TTL, Wait: w.Wait}
		tryOnce(ctx, c, a, func(t *Tenure) { count(ctx, t, w.started(ctx, c, t)) })
	})
}
