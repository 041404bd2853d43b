package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"lockbench/locks"
)

// Advisory locks have numbers of 64 bits, which the server computes from names.
const (
	tryAdvisory = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
	unlock      = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
)

// NewAdvisory returns the opener of pg-advisory. Each lock is acquired, held and released
// on a connection of its own. Pooled: each statement goes to any connection of the pool.
// That is wrong: a session that holds a lock is granted
// it again, and a session that does not hold it cannot release it.
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
	lease, on := &lease{by: l.sessions, lock: "pg-advisory", name: name}, asker(l.pool)
	if !l.pooled {
		if lease.own, err = l.take(ctx); err != nil {
			return nil, fmt.Errorf("pg-advisory: connect: %w", err)
		}
		on = lease.own
	}
	lease.free = func(ctx context.Context) (held bool, err error) {
		err = on.QueryRow(ctx, unlock, name).Scan(&held)
		return held, err
	}
	granted := false
	err = on.QueryRow(ctx, tryAdvisory, name).Scan(&granted)
	switch {
	case err != nil:
		return lease, fmt.Errorf("pg-advisory: acquire: %w", err)
	case !granted:
		l.put(lease.own, true)
		return nil, locks.ErrTaken
	}
	return lease, nil
}
