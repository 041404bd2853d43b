package trialtest

import (
	"context"
	"sync"

	"lockbench/locks"
)

// Dozer is a lock that stops virtual time: it waits with a mutex held for which its other
// clients wait. One is shared by all of them.
type Dozer struct{ mu sync.Mutex }

var _ locks.Locker = (*Dozer)(nil)

// Open is an Opener that gives everybody the same one.
func (d *Dozer) Open(context.Context, locks.Client) (locks.Locker, error) { return d, nil }

// Acquire grants nothing, and keeps the mutex until its caller has waited in vain.
func (d *Dozer) Acquire(ctx context.Context, _ locks.Request) (locks.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	<-ctx.Done()
	return nil, ctx.Err()
}

// Close has nothing to close.
func (d *Dozer) Close() error { return nil }

// DozerWaits is how a frozen run describes a waiting dozer. A line of this file follows.
const DozerWaits = "waiting for a mutex: trialtest.(*Dozer).Acquire at dozer.go:"
