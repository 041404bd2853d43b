package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// Row is a kind of lock that is a row of a table for each name, with its holder and an end by the server's clock.
type Row struct {
	Name string // of the lock, for errors
	Table
	// Fenced locks number their grants.
	Fenced bool
	// Take takes a row that is new or whose end has passed, and returns the number of the grant. It returns
	// [locks.ErrTaken] if another client holds the row.
	Take func(ctx context.Context, on Conn, name, holder string, ttl time.Duration) (number int64, err error)
	// Renew is the statement that moves the end of a held row. Its parameters are the ttl in microseconds, the name and the
	// holder. Free is the one that frees a held row, with the parameters name and holder. Both change no row that is not held.
	Renew, Free string
}

// Locker returns a client's handle, which closes the pool in the end.
func (r Row) Locker(db *sql.DB, c locks.Client) locks.Locker { return &rows{r, db, plain.NewTokens(c)} }

type rows struct {
	Row
	db     *sql.DB
	tokens *plain.Tokens
}

// Acquire tries once.
func (l *rows) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	lease := &rowLease{by: l, name: name, holder: l.tokens.Next()}
	err = l.Table.Do(ctx, l.db, func() (err error) {
		lease.End = plain.NewEnd(time.Now().Add(ttl))
		lease.number, err = l.Take(ctx, l.db, name, lease.holder, ttl)
		return err
	})
	switch {
	case errors.Is(err, locks.ErrTaken):
		return nil, locks.ErrTaken
	case err != nil:
		return lease, fmt.Errorf("%s: acquire: %w", l.Name, err)
	case l.Fenced:
		return fencedRowLease{lease}, nil
	}
	return lease, nil
}

// Close closes the connections. Held locks stay held until their end.
func (l *rows) Close() error { return l.db.Close() }

type rowLease struct {
	*plain.End
	by           *rows
	name, holder string
	number       int64
}

// fencedRowLease is the lease of a lock that numbers its grants.
type fencedRowLease struct{ *rowLease }

var (
	_ locks.Bounded = (*rowLease)(nil)
	_ locks.Renewer = (*rowLease)(nil)
	_ locks.Fenced  = fencedRowLease{}
)

// Token is the number of the grant.
func (l fencedRowLease) Token() uint64 { return uint64(l.number) }

// Release frees the row if it is still this lease's.
func (l *rowLease) Release(ctx context.Context) error {
	return l.change(ctx, "release", l.by.Free, l.name, l.holder)
}

// Renew moves the row's end to ttl from now, if the row is still this lease's.
func (l *rowLease) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("%s: renew %q: %w", l.by.Name, l.name, err)
	}
	end := time.Now().Add(ttl)
	err = l.change(ctx, "renew", l.by.Renew, ttl.Microseconds(), l.name, l.holder)
	switch {
	case err == nil:
		l.Moved(end)
	case errors.Is(err, locks.ErrNotHeld):
		l.Lost()
	default:
		l.Doubted(end)
	}
	return err
}

// change executes a statement that changes the row. It returns ErrNotHeld if the statement has changed none.
func (l *rowLease) change(ctx context.Context, what, statement string, args ...any) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var n int64
	done, err := l.by.db.ExecContext(ctx, statement, args...)
	if err == nil {
		n, err = done.RowsAffected()
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %s %q: %w", l.by.Name, what, l.name, err)
	case n == 0:
		return locks.ErrNotHeld
	}
	return nil
}
