package workloads

// sharing is the counter with several threads in each client, which share the client's connections. A lock that belongs to
// a connection must not admit two threads on one connection.
var sharing = Entry{
	Name:  "threads",
	About: "several threads of each client, which share its connections, do what those of counter do",
	New:   func(p Params) Workload { return shared{counting{Params: p, ownerless: true}} },
}

type shared struct{ counting }

var _ Threaded = shared{}

// Threads returns 4: the threads of a client compete.
func (shared) Threads() int { return 2 * threadsPerClient }
