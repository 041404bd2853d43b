package workloads

import "context"

// keysTogether is how many keys are asked for at once, if there are as many.
const keysTogether = 2

// ManyKeys asks for several keys as one lock, and counts on the first of them.
//
//	{a, b}   acquire ─────────────── release
//	{b, c}             refused, or waits, because of b
//	{c, d}        acquire ── release              nothing in common with {a, b}
//
// The keys stand in a drawn order, not in one that all agree on: two who want the
// same two may each have one of them, and the lock must get out of that by itself.
type ManyKeys struct{ Params }

var _ Workload = ManyKeys{}

// Name is what scenarios call it.
func (ManyKeys) Name() string { return "many-keys" }

// About is a line for people.
func (ManyKeys) About() string {
	return "each client takes two keys at once; whoever wants one of the two has to wait"
}

// Run counts until ctx ends.
func (w ManyKeys) Run(ctx context.Context, c *Client) {
	turns(ctx, c, func(ctx context.Context, c *Client) {
		a := Ask{Keys: w.some(c), Owner: c.Owner(), TTL: w.TTL, Wait: w.Wait}
		tryOnce(ctx, c, a, func(t *Tenure) { count(ctx, t, w.started(ctx, c, t)) })
	})
}

// some draws different keys.
func (w ManyKeys) some(c *Client) []string {
	var keys []string
	for _, i := range c.Rand.Perm(len(w.Keys))[:min(keysTogether, len(w.Keys))] {
		keys = append(keys, w.Keys[i])
	}
	return keys
}
