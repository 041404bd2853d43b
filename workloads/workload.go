// Package workloads says what clients do while faults happen.
//
// A [Workload] reads like the code of somebody who uses a lock: acquire, work,
// release, again. It works through a [Client], which talks to the real client
// process, applies what was done to the [Guarded] thing, and records everything.
// The counter is the one to read first (counting.go); the others ask more of a lock:
// re-entry, a shared mode, several names, waiting, renewal (see [Need]).
package workloads

import (
	"context"
	"time"
)

// Workload is what one client does for as long as the run lasts.
type Workload interface {
	// Run lives one client's life until ctx ends or the client is gone, and gives
	// back what it holds before it returns.
	Run(ctx context.Context, c *Client)
}

// Threaded is a workload whose clients have several threads, each of which runs it.
type Threaded interface{ Threads() int }

// Params are the settings of a scenario's workload.
type Params struct {
	Keys []string
	TTL  time.Duration
	Wait time.Duration
	// HoldMin and HoldMax are how long a lock is held, drawn for each hold, both included.
	HoldMin, HoldMax time.Duration
	// ThinkMin and ThinkMax are how long a client pauses between two turns. If both are 0, the defaults apply.
	ThinkMin, ThinkMax time.Duration
}

// Entry is one workload that a scenario may name.
type Entry struct {
	Name, About string
	// Needs are what it asks of a lock beyond one try at one name, alone.
	Needs []Need
	// Wants, if not nil, says with which setting the workload cannot work.
	Wants func(Params) error
	New   func(Params) Workload
}

// All are the workloads that there are.
func All() []Entry {
	return []Entry{counter, reentrant, readersWriters, fair, manyKeys, watchdog, handoff, edge, visits, sharing, renewals}
}

// Find is the workload called name.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
