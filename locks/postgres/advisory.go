package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"lockbench/locks"
)

// The server makes numbers of 64 bits of names.
const (
	tryAdvisory = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
	unlock      = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
)

// NewAdvisory returns the opener of pg-advisory. Each lock is asked for, held and given back
// on a connection that nobody else uses meanwhile. Pooled: each statement goes to
// whatever connection the pool hands out. That is wrong: a session that holds a lock is granted
// it again, and one that does not hold it cannot give it back.
func NewAdvisory(pooled bool) locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		pool, err := connect(ctx, c, "pg-advisory")
		if err != nil {
			return nil, err
		}
		return &advisory{&sessions{pool: pool}, pooled}, nil
	}
}

type advisory struct {
	*sessions
	pooled bool
}

// asker is a connection, or a pool of them.
type asker interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Acquire tries once.
func (l *advisory) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := leaseless(r)
	if err != nil {
		return nil, fmt.Errorf("pg-advisory: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	lease := &advisoryLease{by: l, name: name, on: l.pool}
	if !l.pooled {
		if lease.own, err = l.take(ctx); err != nil {
			return nil, fmt.Errorf("pg-advisory: connect: %w", err)
		}
		lease.on = lease.own
	}
	granted := false
	err = lease.on.QueryRow(ctx, tryAdvisory, name).Scan(&granted)
	switch {
	case err != nil:
		return lease, fmt.Errorf("pg-advisory: acquire: %w", err)
	case !granted:
		l.put(lease.own, true)
		return nil, locks.ErrTaken
	}
	return lease, nil
}

type advisoryLease struct {
	by   *advisory
	name string
	on   asker
	own  *session // nil: it has none of its own

	mu    sync.Mutex
	ended bool // its own connection was put back
}

// Release unlocks.
func (l *advisoryLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	if l.own != nil && l.by.over(l.own) {
		l.ended = true
		return locks.ErrNotHeld
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	held := false
	err := l.on.QueryRow(ctx, unlock, l.name).Scan(&held)
	l.by.put(l.own, err == nil)
	l.ended = l.own != nil
	switch {
	case err != nil:
		return fmt.Errorf("pg-advisory: release %q: %w", l.name, err)
	case !held:
		return locks.ErrNotHeld
	}
	return nil
}
