package mariadb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

const (
	createRows = `CREATE TABLE IF NOT EXISTS lock_rows
		(name VARCHAR(190) COLLATE utf8mb4_bin PRIMARY KEY, holder VARCHAR(64) NOT NULL, until DATETIME(6) NOT NULL) ENGINE=InnoDB`
	clearRow = "DELETE FROM lock_rows WHERE name = ? AND until <= SYSDATE(6)"
	takeRow  = "INSERT INTO lock_rows (name, holder, until) VALUES (?, ?, SYSDATE(6) + INTERVAL ? MICROSECOND)"
	freeRow  = "DELETE FROM lock_rows WHERE name = ? AND holder = ? AND until > SYSDATE(6)"
	renewRow = "UPDATE lock_rows SET until = SYSDATE(6) + INTERVAL ? MICROSECOND WHERE name = ? AND holder = ? AND until > SYSDATE(6)"
)

// NewRow returns the opener of mysql-row: a row for each name under a unique index, with an end by
// the server's clock. An acquire deletes a row whose end has passed, and then inserts its own.
func NewRow() locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		db, err := connect(c, "mysql-row")
		if err != nil {
			return nil, err
		}
		return &rows{db, plain.NewTokens(c)}, nil
	}
}

type rows struct {
	db     *sql.DB
	tokens *plain.Tokens
}

// Acquire tries once.
func (l *rows) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("mysql-row: %w", err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("mysql-row: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	lease := &rowLease{by: l, name: name, holder: l.tokens.Next()}
	err = made(ctx, l.db, createRows, func() error {
		if _, err := l.db.ExecContext(ctx, clearRow, name); err != nil && !said(err, deadlock) {
			return err
		}
		lease.End = plain.NewEnd(time.Now().Add(ttl))
		_, err := l.db.ExecContext(ctx, takeRow, name, lease.holder, ttl.Microseconds())
		return err
	})
	switch {
	case said(err, duplicateKey, deadlock, lockTimeout): // the last two were rolled back
		return nil, locks.ErrTaken
	case err != nil:
		return lease, fmt.Errorf("mysql-row: acquire: %w", err)
	}
	return lease, nil
}

// Close closes the connections. Held locks stay held until their end.
func (l *rows) Close() error { return l.db.Close() }

type rowLease struct {
	*plain.End
	by           *rows
	name, holder string
}

var (
	_ locks.Bounded = (*rowLease)(nil)
	_ locks.Renewer = (*rowLease)(nil)
)

// Release deletes the row if it is still this lease's.
func (l *rowLease) Release(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	done, err := l.by.db.ExecContext(ctx, freeRow, l.name, l.holder)
	return l.told("release", done, err)
}

// told returns the error of a statement that changes the row, ErrNotHeld if it has changed none.
func (l *rowLease) told(what string, done sql.Result, err error) error {
	var n int64
	if err == nil {
		n, err = done.RowsAffected()
	}
	switch {
	case err != nil:
		return fmt.Errorf("mysql-row: %s %q: %w", what, l.name, err)
	case n == 0:
		return locks.ErrNotHeld
	}
	return nil
}

// Renew moves the row's end to ttl from now, if it is still this lease's.
func (l *rowLease) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("mysql-row: renew %q: %w", l.name, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	end := time.Now().Add(ttl)
	done, err := l.by.db.ExecContext(ctx, renewRow, ttl.Microseconds(), l.name, l.holder)
	switch err = l.told("renew", done, err); {
	case err == nil:
		l.Moved(end)
	case err == locks.ErrNotHeld:
		l.Lost()
	default:
		l.Doubted(end)
	}
	return err
}
