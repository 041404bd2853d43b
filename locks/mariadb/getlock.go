package mariadb

import (
	"context"
	"database/sql"
	"fmt"

	"lockbench/locks"
)

// NewGetLock returns the opener of mysql-get-lock. Each lock is acquired, held and released
// on a connection of its own. Pooled: each statement goes to any connection of the pool.
// That is wrong: a session that holds a lock is granted
// it again, and a session that does not hold it cannot release it.
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
	name = "lock." + name
	lease, on := &lease{by: l.sessions, lock: "mysql-get-lock", name: name}, execer(l.db)
	if !l.pooled {
		if lease.own, err = l.take(ctx); err != nil {
			return nil, fmt.Errorf("mysql-get-lock: connect: %w", err)
		}
		on = lease.own
	}
	lease.free = func(ctx context.Context) (bool, error) {
		var held sql.NullBool // 0: another session has it; NULL: none has
		err := on.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", name).Scan(&held)
		return held.Bool, err
	}
	var granted sql.NullBool
	err = on.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", name).Scan(&granted)
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
