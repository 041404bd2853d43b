// Package control has the locks with a known verdict. They test the harness: no-lock must always be violated, in-process and
// flock must always be valid. Otherwise the results of the other locks in the run mean nothing.
//
// [NoLock] is the smallest lock. Start reading there to write your own.
package control

import (
	"context"

	"lockbench/locks"
)

// NoLock grants every request.
type NoLock struct{}

var _ locks.Locker = NoLock{}

// OpenNoLock is the opener of no-lock.
func OpenNoLock(context.Context, locks.Client) (locks.Locker, error) { return NoLock{}, nil }

// Acquire grants.
func (NoLock) Acquire(context.Context, locks.Request) (locks.Lease, error) { return noLease{}, nil }

// Close does nothing.
func (NoLock) Close() error { return nil }

type noLease struct{}

// Release does nothing.
func (noLease) Release(context.Context) error { return nil }
