package mariadb

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"lockbench/locks"
)

// NewGetLock returns the opener of mysql-get-lock. Each lock is asked for, held and given back
// on a connection that nobody else uses meanwhile. Pooled: each statement goes to
// whatever connection the pool hands out. That is wrong: a session that holds a lock is granted
// it again, and one that does not hold it cannot give it back.
func NewGetLock(pooled bool) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		db, err := connect(c, "mysql-get-lock")
		if err != nil {
			return nil, err
		}
		return &getLock{&sessions{db: db}, pooled}, nil
	}
}

type getLock struct {
	*sessions
	pooled bool
}

// Acquire tries once. Names are the server's as a whole, so they get a prefix.
func (l *getLock) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := leaseless(r)
	if err != nil {
		return nil, fmt.Errorf("mysql-get-lock: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	lease := &getLockLease{by: l, name: "lock." + name, on: l.db}
	if !l.pooled {
		if lease.own, err = l.take(ctx); err != nil {
			return nil, fmt.Errorf("mysql-get-lock: connect: %w", err)
		}
		lease.on = lease.own
	}
	var granted sql.NullBool
	err = lease.on.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lease.name).Scan(&granted)
	switch {
	case err != nil:
		return lease, fmt.Errorf("mysql-get-lock: acquire: %w", err)
	case !granted.Valid:
		return lease, fmt.Errorf("mysql-get-lock: acquire: GET_LOCK answers NULL")
	case !granted.Bool:
		l.put(lease.own, true)
		return nil, locks.ErrTaken
	}
	return lease, nil
}

type getLockLease struct {
	by   *getLock
	name string
	on   execer
	own  *sql.Conn // nil: it has none of its own

	mu    sync.Mutex
	ended bool // its own connection was put back
}

// Release gives the lock back.
func (l *getLockLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	var held sql.NullBool // 0: another has it; NULL: nobody has
	err := l.on.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", l.name).Scan(&held)
	l.by.put(l.own, err == nil)
	l.ended = l.own != nil
	switch {
	case l.own != nil && over(err):
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("mysql-get-lock: release %q: %w", l.name, err)
	case !held.Bool:
		return locks.ErrNotHeld
	}
	return nil
}
