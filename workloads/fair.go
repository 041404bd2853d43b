package workloads

// fair is clients that queue for a lock. Each waits as long as it takes, within the
// scenario's patience, counts, and queues again.
//
// Who came first only the lock knows: a request may be held up on its way, and
// whoever asks later may be there before it. A lock that claims to be fair says when
// it has put somebody into its queue (locks.Request.Queued), the run writes that down,
// and whoever asks only after that must be served later:
//
//	client 1  acquire ────── in the queue ───────────────── ok
//	client 2                               acquire ── ok           overtaken
var fair = Entry{
	Name:  "fair",
	About: "clients queue for a lock; who is known to be queued must be served before those who ask later",
	Needs: []Need{needsWaiting}, Wants: wantsWaiting,
	New: func(p Params) Workload { return counting{Params: p} },
}
