package control

import (
	"context"

	"lockbench/locks"
)

// NoLock grants everything to everybody. It is a lock only by contract.
type NoLock struct{}

var _ locks.Locker = NoLock{}

// OpenNoLock opens no-lock. It is a locks.Opener.
func OpenNoLock(context.Context, locks.Client) (locks.Locker, error) { return NoLock{}, nil }

var _ locks.Opener = OpenNoLock

// Acquire grants.
func (NoLock) Acquire(context.Context, locks.Request) (locks.Lease, error) { return noLease{}, nil }

// Close does nothing.
func (NoLock) Close() error { return nil }

type noLease struct{}

// Release agrees.
func (noLease) Release(context.Context) error { return nil }
