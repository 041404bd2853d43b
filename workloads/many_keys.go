package workloads

// keysTogether is the number of keys in one request, if there are as many.
const keysTogether = 2

// manyKeys is a workload that takes several keys as one lock and counts on the first of them.
//
//	{a, b}   acquire ─────────────── release
//	{b, c}             refused, or waits, because of b
//	{c, d}        acquire ── release              shares no key with {a, b}
//
// The order of the keys is random. Two clients that request the same keys may each get one of them, and the lock must
// resolve that by itself.
var manyKeys = Entry{
	Name:  "many-keys",
	About: "each client takes two keys at once; clients that need one of them wait",
	Needs: []Need{needsSeveral}, Wants: wantsKeys,
	New: func(p Params) Workload { return counting{Params: p, together: keysTogether} },
}
