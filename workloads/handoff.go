package workloads

// handoff is a workload with one holder and many waiters on each key. Clients do not pause between turns. The result
// reports the handoff latency, from a release until a waiter has the lock:
//
//	client 1  ── release ──
//	client 2  acquire ......... ok       from the call of the release to the grant of
//	client 3  acquire .................  a waiter: the handoff
var handoff = Entry{
	Name:  "handoff",
	About: "one client holds and all others wait; how long from a release until a waiter has the lock",
	Needs: []Need{needsWaiting}, Wants: wantsWaiting,
	New: func(p Params) Workload { return counting{Params: p, hurried: true} },
}
