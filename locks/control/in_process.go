package control

import (
	"context"
	"fmt"
	"sync"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// Table is the in-process lock: the names that are held, in the memory of the
// process that runs all the clients. All clients of one run must be opened from
// one Table, and two runs must not share one.
type Table struct {
	mu   sync.Mutex
	held map[string]*inProcessLease
}

// NewTable returns a table in which nothing is held.
func NewTable() *Table { return &Table{held: make(map[string]*inProcessLease)} }

// Open opens a client's handle on the table. It is a locks.Opener.
func (t *Table) Open(context.Context, locks.Client) (locks.Locker, error) {
	return &inProcess{table: t}, nil
}

// inProcess is one client's handle. Everything in it is guarded by the table's mutex.
type inProcess struct {
	table  *Table
	closed bool
}

var _ locks.Locker = (*inProcess)(nil)

// Acquire takes the name if it is free. A lease has no end, so any ttl will do.
func (l *inProcess) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) {
	key, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("in-process: %w", err)
	}
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("in-process: acquire %q: %w", key, plain.ErrClosed)
	}
	if l.table.held[key] != nil {
		return nil, locks.ErrTaken
	}
	lease := &inProcessLease{handle: l, key: key}
	l.table.held[key] = lease
	return lease, nil
}

// Close gives back what this client still holds, as the end of a process would.
func (l *inProcess) Close() error {
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	l.closed = true
	for key, lease := range l.table.held {
		if lease.handle == l {
			delete(l.table.held, key)
		}
	}
	return nil
}

type inProcessLease struct {
	handle *inProcess
	key    string
}

// Release gives the name back, once.
func (l *inProcessLease) Release(context.Context) error {
	t := l.handle.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[l.key] != l {
		return locks.ErrNotHeld
	}
	delete(t.held, l.key)
	return nil
}
