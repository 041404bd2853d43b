package workloads

// fair is a workload of clients that queue for a lock. Each waits within the scenario's wait, counts, and queues again.
//
// Only the lock knows the order of its queue, because a request can be delayed on its way. A fair lock reports that a
// request entered the queue (locks.Request.Queued), and the run records it. A client that requests the lock after that
// must be served later:
//
//	client 1  acquire ────── in the queue ───────────────── ok
//	client 2                               acquire ── ok           overtaken
var fair = Entry{
	Name:  "fair",
	About: "clients queue for a lock; a queued client must be served before clients that request the lock later",
	Needs: []Need{needsWaiting}, Wants: wantsWaiting,
	New: func(p Params) Workload { return counting{Params: p} },
}
