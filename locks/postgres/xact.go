package postgres

import (
	"context"
	"fmt"

	"lockbench/locks"
)

const tryInTransaction = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"

// NewAdvisoryXact returns the opener of pg-advisory-xact. A lock is held while a
// transaction is open, and released by its commit.
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
	lease := &lease{by: l.sessions, lock: "pg-advisory-xact", name: name, own: own}
	lease.free = func(ctx context.Context) (bool, error) {
		_, err := own.Exec(ctx, "COMMIT")
		return true, err
	}
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
