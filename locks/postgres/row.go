package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// A row is never deleted, for it counts the grants of its name.
const (
	createRows = `CREATE TABLE IF NOT EXISTS lock_rows
		(name text PRIMARY KEY, holder text, until timestamptz NOT NULL, fence bigint NOT NULL)`
	takeRow = `INSERT INTO lock_rows AS r (name, holder, until, fence)
		VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond', 1)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until, fence = r.fence + 1
		WHERE r.until <= clock_timestamp() RETURNING fence`
	renewRow = `UPDATE lock_rows SET until = clock_timestamp() + $3 * interval '1 millisecond'
		WHERE name = $1 AND holder = $2 AND until > clock_timestamp()`
	freeRow = `UPDATE lock_rows SET until = '-infinity', holder = NULL
		WHERE name = $1 AND holder = $2 AND until > clock_timestamp()`
)

// Error codes of the server: no table, and a table that two clients create at once.
const (
	undefinedTable  = "42P01"
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
)

// NewRow returns the opener of pg-row: a row for each name has its holder, its end by the
// server's clock, and the number of grants, which is the token. One statement takes a row that is new or
// whose end has passed.
func NewRow() locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		pool, err := connect(ctx, c, "pg-row")
		if err != nil {
			return nil, err
		}
		return &rows{pool: pool, tokens: plain.NewTokens(c)}, nil
	}
}

type rows struct {
	pool   *pgxpool.Pool
	tokens *plain.Tokens
}

// Acquire tries once.
func (l *rows) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("pg-row: %w", err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("pg-row: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	lease := &rowLease{by: l, name: name, holder: l.tokens.Next()}
	for {
		start := time.Now()
		lease.End = plain.NewEnd(start.Add(ttl))
		err = l.pool.QueryRow(ctx, takeRow, name, lease.holder, ttl.Milliseconds()).Scan(&lease.fence)
		if !said(err, undefinedTable) {
			break
		}
		// Nothing was done, so it can be asked again.
		if _, err := l.pool.Exec(ctx, createRows); err != nil && !said(err, uniqueViolation) && !said(err, duplicateTable) {
			return nil, fmt.Errorf("pg-row: make the table: %w", err)
		}
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, locks.ErrTaken
	case err != nil:
		return lease, fmt.Errorf("pg-row: acquire: %w", err)
	}
	return lease, nil
}

// said tells whether an error is an answer of the server with a code.
func said(err error, code string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == code
}

// Close closes the connections. What is held stays held until its end.
func (l *rows) Close() error { l.pool.Close(); return nil }

type rowLease struct {
	*plain.End
	by           *rows
	name, holder string
	fence        int64
}

var (
	_ locks.Bounded = (*rowLease)(nil)
	_ locks.Fenced  = (*rowLease)(nil)
	_ locks.Renewer = (*rowLease)(nil)
)

// Token is the number of the grant.
func (l *rowLease) Token() uint64 { return uint64(l.fence) }

// Release frees the row if it is still this lease's.
func (l *rowLease) Release(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	tag, err := l.by.pool.Exec(ctx, freeRow, l.name, l.holder)
	switch {
	case err != nil:
		return fmt.Errorf("pg-row: release %q: %w", l.name, err)
	case tag.RowsAffected() == 0:
		return locks.ErrNotHeld
	}
	return nil
}

// Renew moves its end to ttl from now, if it is still this lease's.
func (l *rowLease) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("pg-row: renew %q: %w", l.name, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	end := time.Now().Add(ttl)
	tag, err := l.by.pool.Exec(ctx, renewRow, l.name, l.holder, ttl.Milliseconds())
	switch {
	case err != nil:
		l.Doubted(end)
		return fmt.Errorf("pg-row: renew %q: %w", l.name, err)
	case tag.RowsAffected() == 0:
		l.Lost()
		return locks.ErrNotHeld
	}
	l.Moved(end)
	return nil
}
