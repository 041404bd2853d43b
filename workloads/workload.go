// Package workloads says what clients do while faults happen.
//
// A [Workload] reads like the code of somebody who uses a lock: acquire, work,
// release, again. It works through a [Client], which talks to the real client
// process, applies what was done to the [Guarded] thing, and records everything.
// [Counter] is the only one so far and the one to read first.
package workloads

import (
	"context"
	"time"
)

// Workload is what one client does for as long as the run lasts.
type Workload interface {
	Name() string
	About() string
	// Run lives one client's life until ctx ends or the client is gone, and gives
	// back what it holds before it returns.
	Run(ctx context.Context, c *Client)
}

// Params are the settings of a scenario's workload.
type Params struct {
	Keys []string
	TTL  time.Duration
	Wait time.Duration
	// HoldMin and HoldMax are how long a lock is held, drawn anew each time, both included.
	HoldMin, HoldMax time.Duration
}

// Entry is one workload that a scenario may name.
type Entry struct {
	Name, About string
	New         func(Params) Workload
}

// All are the workloads that there are.
func All() []Entry {
	return []Entry{
		{"counter", Counter{}.About(), func(p Params) Workload { return Counter{p} }},
	}
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
