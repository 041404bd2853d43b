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
	// Take takes a row that is new or whose end has passed, and returns the number of the grant, or 0 for locks without
	// numbers. It returns [locks.ErrTaken] if another client holds the row.
	Take func(ctx context.Context, on Conn, name, holder string, ttl time.Duration) (number int64, err error)
	// Renew is the statement that moves the end of a held row. Its parameters are the ttl in microseconds, the name and the
	// holder. Free is the one that frees a held row, with the parameters name and holder. Both change no row that is not held.
	Renew, Free string
}

// Opener returns the opener of the lock.
func (r Row) Opener(connect Connect) locks.Opener { return connect.opener(r.Name, r.locker) }

// locker returns a client's handle, which closes the pool in the end.
func (r Row) locker(db *sql.DB, c locks.Client) locks.Locker {
	return &plain.Lock{
		Closer: db, Name: r.Name, Tokens: plain.NewTokens(c),
		Take: func(ctx context.Context, l *plain.Lease, ttl time.Duration) (bool, error) {
			ctx, cancel := bounded(ctx)
			defer cancel()
			err := r.Table.Do(ctx, db, func() error {
				l.Moved(time.Now().Add(ttl))
				number, err := r.Take(ctx, db, l.Key, l.Token, ttl)
				l.Number = uint64(number)
				return err
			})
			switch {
			case errors.Is(err, locks.ErrTaken):
				return false, nil
			case err != nil:
				return false, fmt.Errorf("acquire: %w", err)
			}
			return true, nil
		},
		Extend: func(ctx context.Context, l *plain.Lease, ttl time.Duration) (bool, error) {
			return changes(ctx, db, r.Renew, ttl.Microseconds(), l.Key, l.Token)
		},
		Free: func(ctx context.Context, l *plain.Lease) (bool, error) {
			return changes(ctx, db, r.Free, l.Key, l.Token)
		},
	}
}

// changes executes a statement, and reports whether it has changed a row.
func changes(ctx context.Context, db *sql.DB, statement string, args ...any) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	done, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
