// Package sqllock has the two kinds of locks that are made of SQL databases. A [Session] lock is held by a connection, and a
// [Row] lock is a row with an end. Packages postgres and mariadb supply the statements.
package sqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// limit limits one statement, including the connection that it needs.
const limit = 3 * time.Second

// connectionsMax is how many connections one client opens at most: one for each name that it holds, and one for requests.
const connectionsMax = 8

// Conn is a connection, or a pool of them.
type Conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Connect returns the connector of a client. The lock's name is for errors.
type Connect func(c locks.Client, lock string) (driver.Connector, error)

// opener returns the opener of a lock whose clients have a pool each, which connects when it is first used.
func (connect Connect) opener(lock string, locker func(*sql.DB, locks.Client) locks.Locker) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		connector, err := connect(c, lock)
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(connectionsMax)
		db.SetMaxIdleConns(connectionsMax)
		return locker(db, c), nil
	}
}

// Table is a table that its first user creates.
type Table struct {
	Create string
	// Missing and Exists report whether an error is the server's answer that there is no such table, or that another
	// client has just created it.
	Missing, Exists func(error) bool
}

// Do calls do, and calls it again after it has created a missing table. A statement without its table has done nothing.
func (t Table) Do(ctx context.Context, on Conn, do func() error) error {
	for {
		err := do()
		if err == nil || !t.Missing(err) {
			return err
		}
		if _, err := on.ExecContext(ctx, t.Create); err != nil && !t.Exists(err) {
			return fmt.Errorf("create the table: %w", err)
		}
	}
}

// neverSent reports that the connection had ended before the statement, so that the statement was not sent.
func neverSent(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, limit)
}
