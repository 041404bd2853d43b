// Package postgres has the usual locks in PostgreSQL, with the client pgx under database/sql:
//
//	pg-advisory       pg_try_advisory_lock, held by a connection
//	pg-advisory-xact  pg_try_advisory_xact_lock, held by a transaction
//	pg-row            a row for each name, with an end by the server's clock and a number
//
// The first two have no lease. They lose the lock with the server or the connection, and the client gets no notice of it. The
// server keeps the lock of a silent connection until its TCP gives up.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"lockbench/internal/service/postgres"
	"lockbench/locks"
	"lockbench/locks/internal/sqllock"
)

// connect is the [sqllock.Connect] of these locks.
func connect(c locks.Client, lock string) (driver.Connector, error) {
	nodes := c.Store.Nodes()
	if c.Store.Service != postgres.Name || len(nodes) == 0 {
		return nil, fmt.Errorf("%s: %w: it needs a PostgreSQL", lock, locks.ErrUnsupported)
	}
	cfg, err := pgx.ParseConfig("postgres://" + nodes[0].Addr + "/?sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	params := c.Store.Params
	cfg.User, cfg.Password, cfg.Database = params[postgres.User], params[postgres.Password], params[postgres.Database]
	if schema := params[postgres.Schema]; schema != "" {
		cfg.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	}
	if c.Store.Dial != nil {
		cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.Store.Dial(ctx, network, addr)
		}
	}
	return stdlib.GetConnector(*cfg), nil
}

// session returns the opener of a lock that a connection holds.
func session(s sqllock.Session) locks.Opener {
	// When a context ends, pgx itself asks the server to stop the statement, and waits for the answer before it closes.
	s.Cut = func(conn any) { _ = conn.(*stdlib.Conn).Conn().PgConn().Conn().Close() }
	return s.Opener(connect)
}

// Advisory locks have numbers of 64 bits, which the server computes from names.
const (
	tryAdvisory      = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
	tryInTransaction = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"
	unlock           = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
)

// NewAdvisory returns the opener of pg-advisory. Each lock is acquired, held and released on a connection of its own; for
// pooled see [sqllock.Session].
func NewAdvisory(pooled bool) locks.Opener {
	return session(sqllock.Session{
		Name: "pg-advisory", Pooled: pooled,
		Take: func(ctx context.Context, on sqllock.Conn, name string) error { return try(ctx, on, tryAdvisory, name) },
		Free: func(ctx context.Context, on sqllock.Conn, name string) (held bool, err error) {
			err = on.QueryRowContext(ctx, unlock, name).Scan(&held)
			return held, err
		},
	})
}

// NewAdvisoryXact returns the opener of pg-advisory-xact. A lock is held while a transaction is open, and released by its
// commit.
func NewAdvisoryXact() locks.Opener {
	return session(sqllock.Session{
		Name: "pg-advisory-xact", Refused: "ROLLBACK",
		Take: func(ctx context.Context, on sqllock.Conn, name string) error {
			if _, err := on.ExecContext(ctx, "BEGIN"); err != nil {
				return err
			}
			return try(ctx, on, tryInTransaction, name)
		},
		Free: func(ctx context.Context, on sqllock.Conn, _ string) (bool, error) {
			_, err := on.ExecContext(ctx, "COMMIT")
			if errors.Is(err, driver.ErrBadConn) {
				// pgx also returns it for a COMMIT that was sent and whose answer was lost, so the outcome is unknown.
				err = errors.New("commit: no answer, or the connection had ended")
			}
			return true, err
		},
	})
}

// try executes a statement that returns whether a lock was granted.
func try(ctx context.Context, on sqllock.Conn, statement, name string) error {
	granted := false
	if err := on.QueryRowContext(ctx, statement, name).Scan(&granted); err != nil {
		return err
	}
	if !granted {
		return locks.ErrTaken
	}
	return nil
}

// A row is never deleted, because it counts the grants of its name.
const (
	createRows = `CREATE TABLE IF NOT EXISTS lock_rows
		(name text PRIMARY KEY, holder text, until timestamptz NOT NULL, fence bigint NOT NULL)`
	takeRow = `INSERT INTO lock_rows AS r (name, holder, until, fence)
		VALUES ($1, $2, clock_timestamp() + $3 * interval '1 microsecond', 1)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until, fence = r.fence + 1
		WHERE r.until <= clock_timestamp() RETURNING fence`
	renewRow = `UPDATE lock_rows SET until = clock_timestamp() + $1 * interval '1 microsecond'
		WHERE name = $2 AND holder = $3 AND until > clock_timestamp()`
	freeRow = `UPDATE lock_rows SET until = '-infinity', holder = NULL
		WHERE name = $1 AND holder = $2 AND until > clock_timestamp()`
)

// Error codes of the server: no table, and a table that two clients create at once.
const (
	undefinedTable  = "42P01"
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
)

// NewRow returns the opener of pg-row: a row for each name has its holder, its end by the server's clock, and the number of
// grants, which is the token. One statement takes a row that is new or whose end has passed.
func NewRow() locks.Opener {
	row := sqllock.Row{
		Name: "pg-row", Renew: renewRow, Free: freeRow,
		Table: sqllock.Table{Create: createRows, Missing: answers(undefinedTable), Exists: answers(uniqueViolation, duplicateTable)},
		Take: func(ctx context.Context, on sqllock.Conn, name, holder string, ttl time.Duration) (number int64, err error) {
			err = on.QueryRowContext(ctx, takeRow, name, holder, ttl.Microseconds()).Scan(&number)
			if errors.Is(err, sql.ErrNoRows) {
				err = locks.ErrTaken
			}
			return number, err
		},
	}
	return row.Opener(connect)
}

// answers returns a function that reports whether an error is an answer of the server with one of the codes.
func answers(codes ...string) func(error) bool {
	return func(err error) bool {
		var answer *pgconn.PgError
		return errors.As(err, &answer) && slices.Contains(codes, answer.Code)
	}
}
