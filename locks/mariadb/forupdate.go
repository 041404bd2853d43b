package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"lockbench/locks"
)

const createNames = "CREATE TABLE IF NOT EXISTS lock_names (name VARCHAR(190) COLLATE utf8mb4_bin PRIMARY KEY) ENGINE=InnoDB"

// NewForUpdate returns the opener of mysql-for-update: a row for each name, locked by a SELECT in a
// transaction, and released by its commit.
func NewForUpdate() locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		db, err := connect(c, "mysql-for-update")
		if err != nil {
			return nil, err
		}
		return &forUpdate{&sessions{db: db}}, nil
	}
}

type forUpdate struct{ *sessions }

// Acquire tries once, in a transaction of its own.
func (l *forUpdate) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := leaseless(r)
	if err != nil {
		return nil, fmt.Errorf("mysql-for-update: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	own, err := l.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysql-for-update: connect: %w", err)
	}
	lease := &lease{by: l.sessions, lock: "mysql-for-update", name: name, own: own}
	lease.free = func(ctx context.Context) (bool, error) {
		_, err := own.ExecContext(ctx, "COMMIT")
		return true, err
	}
	err = l.ask(ctx, own, name)
	switch {
	case err == nil:
		return lease, nil
	case said(err, lockTimeout, deadlock):
		_, err := own.ExecContext(ctx, "ROLLBACK")
		l.put(own, err == nil)
		return nil, locks.ErrTaken
	}
	return lease, fmt.Errorf("mysql-for-update: acquire: %w", err)
}

// ask begins a transaction that locks the row. It inserts a missing row first.
func (l *forUpdate) ask(ctx context.Context, own *sql.Conn, name string) error {
	for tries := 0; ; tries++ {
		err := made(ctx, own, createNames, func() error {
			if _, err := own.ExecContext(ctx, "START TRANSACTION"); err != nil {
				return err
			}
			var found string
			return own.QueryRowContext(ctx, "SELECT name FROM lock_names WHERE name = ? FOR UPDATE NOWAIT", name).Scan(&found)
		})
		if !errors.Is(err, sql.ErrNoRows) || tries > 0 {
			return err
		}
		if _, err := own.ExecContext(ctx, "ROLLBACK"); err != nil {
			return err
		}
		if _, err := own.ExecContext(ctx, "INSERT IGNORE INTO lock_names (name) VALUES (?)", name); err != nil {
			return err
		}
	}
}
