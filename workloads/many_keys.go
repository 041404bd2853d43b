package workloads

// keysTogether is how many keys are asked for at once, if there are as many.
const keysTogether = 2

// manyKeys asks for several keys as one lock, and counts on the first of them.
//
//	{a, b}   acquire ─────────────── release
//	{b, c}             refused, or waits, because of b
//	{c, d}        acquire ── release              nothing in common with {a, b}
//
// The keys stand in a drawn order, not in one that all agree on: two who want the
// same two may each have one of them, and the lock must get out of that by itself.
var manyKeys = Entry{
	Name:  "many-keys",
	About: "each client takes two keys at once; whoever wants one of the two has to wait",
	Needs: []Need{needsSeveral}, Wants: wantsKeys,
	New: func(p Params) Workload { return counting{Params: p, together: keysTogether} },
}
