package control

import (
	"context"
	"fmt"
	"sync"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// Table is the in-process lock: the held names, in the memory of the process that runs all clients. All clients of one run
// are opened from one Table, and two runs do not share a Table.
type Table struct {
	mu   sync.Mutex
	held map[string]*inProcessLease
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{held: make(map[string]*inProcessLease)} }

// Open is the opener of the lock.
func (t *Table) Open(context.Context, locks.Client) (locks.Locker, error) {
	return &inProcess{table: t}, nil
}

// inProcess is one client's handle. The table's mutex guards it.
type inProcess struct {
	table  *Table
	closed bool
}

var _ locks.Locker = (*inProcess)(nil)

// Acquire takes the name if it is free. It ignores the ttl, because a lease has no end.
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

// Close releases the client's locks, as the end of a process would.
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

// Release releases the name, once.
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
