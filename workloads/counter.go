package workloads

// counter is the simplest workload; see [counting].
var counter = Entry{
	Name:  "counter",
	About: "each client takes a key's lock, reads its counter, holds for a while, writes the next number, releases",
	New:   func(p Params) Workload { return counting{Params: p, ownerless: true} },
}
