package workloads

// handoff is one holder and many waiters on each key, all the time: nobody thinks
// between two turns. What it is about is not only who gets the lock, but how soon
// after it was given back. The result tells that as the latency of a handoff.
//
//	client 1  ── release ──
//	client 2  acquire ......... ok       from the call of the release to the grant of
//	client 3  acquire .................  one who waited: the handoff
var handoff = Entry{
	Name:  "handoff",
	About: "one client holds and all others wait; how long from a release until a waiter has the lock",
	Needs: []Need{needsWaiting}, Wants: wantsWaiting,
	New: func(p Params) Workload { return counting{Params: p, hurried: true} },
}
