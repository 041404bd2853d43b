package workloads

// sharing is the counter with several threads in each client. They share what the client
// has: a lock that is held by a connection must not be asked for by another thread on that one.
var sharing = Entry{
	Name:  "threads",
	About: "several threads of each client, which share its connections, do what those of counter do",
	New:   func(p Params) Workload { return shared{counting{Params: p, ownerless: true}} },
}

type shared struct{ counting }

var _ Threaded = shared{}

// Threads are strangers to each other.
func (shared) Threads() int { return 2 * threadsPerClient }
