// Package workloads contains the programs that clients run while faults happen.
//
// A [Workload] reads like the code of a user of a lock: acquire, work, release, repeat. It works through a [Client], which
// talks to the real client process, applies accesses to the [Guarded] resource, and records everything. The counter
// (counting.go) is the simplest. Other workloads need more of a lock: re-entry, a shared mode, several keys, waiting or
// renewal (see [Need]).
//
// The Go API that lockbench keeps stable is in lockbench, lockbench/locks and lockbench/locks/locktest.
// This package is not part of it.
package workloads

import (
	"context"
	"time"
)

// Workload is the program of a client.
type Workload interface {
	// Run runs one client until ctx ends or the client is gone, and releases its locks before it returns.
	Run(ctx context.Context, c *Client)
}

// Threaded is a workload that each of several threads of a client runs.
type Threaded interface{ Threads() int }

// Params are the settings of a scenario's workload.
type Params struct {
	Keys []string
	TTL  time.Duration
	Wait time.Duration
	// HoldMin and HoldMax limit the random length of a hold, inclusively.
	HoldMin, HoldMax time.Duration
	// ThinkMin and ThinkMax limit the pause between two turns. If both are 0, the defaults apply.
	ThinkMin, ThinkMax time.Duration
}

// Entry is a workload that a scenario may name.
type Entry struct {
	Name, About string
	// Needs are the capabilities that the workload needs in addition to one attempt for one key.
	Needs []Need
	// Wants, if not nil, returns a [Setting] if the workload cannot work with the settings.
	Wants func(Params) error
	New   func(Params) Workload
}

// All returns all workloads.
func All() []Entry {
	return []Entry{counter, reentrant, readersWriters, fair, manyKeys, watchdog, handoff, edge, visits, sharing, renewals}
}

// Find returns the workload called name.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
