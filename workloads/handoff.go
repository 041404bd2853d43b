package workloads

import "context"

// Handoff is one holder and many waiters on each key, all the time: nobody thinks
// between two turns. What it is about is not only who gets the lock, but how soon
// after it was given back. The result tells that as the latency of a handoff.
//
//	client 1  ── release ──
//	client 2  acquire ......... ok       from the call of the release to the grant of
//	client 3  acquire .................  one who waited: the handoff
type Handoff struct{ Params }

var _ Workload = Handoff{}

// Name is what scenarios call it.
func (Handoff) Name() string { return "handoff" }

// About is a line for people.
func (Handoff) About() string {
	return "one client holds and all others wait; how long from a release until a waiter has the lock"
}

// Run waits and hands over until ctx ends.
func (w Handoff) Run(ctx context.Context, c *Client) {
	for ctx.Err() == nil && !c.Gone() {
		a := Ask{Keys: []string{w.anyKey(c)}, Owner: c.Owner(), TTL: w.TTL, Wait: w.Wait}
		if !tryOnce(ctx, c, a, func(t *Tenure) { count(ctx, t, w.started(ctx, c, t)) }) {
			pause(ctx, drawn(c, thinkMin, thinkMax)) // whoever cannot wait must not hurry
		}
	}
}
