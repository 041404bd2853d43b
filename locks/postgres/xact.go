package postgres

import (
	"context"
	"fmt"
	"sync"

	"lockbench/locks"
)

const tryInTransaction = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"

// NewAdvisoryXact returns the opener of pg-advisory-xact. A lock is held for as long as a
// transaction is open, and given back by its commit.
func NewAdvisoryXact() locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		pool, err := connect(ctx, c, "pg-advisory-xact")
		if err != nil {
			return nil, err
		}
		return &advisoryXact{&sessions{pool: pool}}, nil
	}
}

type advisoryXact struct{ *sessions }

// Acquire tries once, in a transaction of its own.
func (l *advisoryXact) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := leaseless(r)
	if err != nil {
		return nil, fmt.Errorf("pg-advisory-xact: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	own, err := l.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("pg-advisory-xact: connect: %w", err)
	}
	lease := &xactLease{by: l, name: name, own: own}
	granted := false
	if _, err = own.Exec(ctx, "BEGIN"); err == nil {
		err = own.QueryRow(ctx, tryInTransaction, name).Scan(&granted)
	}
	if err != nil {
		return lease, fmt.Errorf("pg-advisory-xact: acquire: %w", err)
	}
	if !granted {
		_, err := own.Exec(ctx, "ROLLBACK")
		l.put(own, err == nil)
		return nil, locks.ErrTaken
	}
	return lease, nil
}

type xactLease struct {
	by   *advisoryXact
	name string
	own  *session

	mu    sync.Mutex
	ended bool
}

// Release commits.
func (l *xactLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	l.ended = true
	if l.by.over(l.own) {
		return locks.ErrNotHeld
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	_, err := l.own.Exec(ctx, "COMMIT")
	l.by.put(l.own, err == nil)
	if err != nil {
		return fmt.Errorf("pg-advisory-xact: release %q: %w", l.name, err)
	}
	return nil
}
