// Package mariadb has the usual locks in MySQL and MariaDB, with the client
// go-sql-driver/mysql under database/sql:
//
//	mysql-row         a row for each name under a unique index
//	mysql-get-lock    GET_LOCK, held by a connection
//	mysql-for-update  SELECT ... FOR UPDATE on a row, held by a transaction
//
// The last two have no lease. They lose the lock with the server or the connection,
// and the client gets no notice of it. The server keeps the lock of a silent connection until
// its TCP gives up, or until wait_timeout.
package mariadb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/service/mariadb"
	"lockbench/locks"
	"lockbench/locks/internal/sqllock"
)

// quiet drops the log of the client library, which also returns the errors.
type quiet struct{}

func (quiet) Print(...any) {}

// connect is the [sqllock.Connect] of these locks.
func connect(c locks.Client, lock string) (driver.Connector, error) {
	nodes := c.Store.Nodes()
	if c.Store.Service != mariadb.Name || len(nodes) == 0 {
		return nil, fmt.Errorf("%s: %w: it needs a MariaDB", lock, locks.ErrUnsupported)
	}
	cfg := mysql.NewConfig()
	params := c.Store.Params
	cfg.User, cfg.Passwd, cfg.DBName = params[mariadb.User], params[mariadb.Password], params[mariadb.Database]
	cfg.Net, cfg.Addr = "tcp", nodes[0].Addr
	cfg.Logger = quiet{}
	// Statements with values in them: one message each, and nothing is prepared first.
	cfg.InterpolateParams = true
	if c.Store.Dial != nil {
		cfg.DialFunc = c.Store.Dial
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	return connector, nil
}

// NewGetLock returns the opener of mysql-get-lock. Each lock is acquired, held and released on a connection of its own; for
// pooled see [sqllock.Session]. Names of GET_LOCK belong to the whole server, so they get a prefix.
func NewGetLock(pooled bool) locks.Opener {
	const prefix = "lock."
	return sqllock.Session{
		Name: "mysql-get-lock", Pooled: pooled,
		Take: func(ctx context.Context, on sqllock.Conn, name string) error {
			var granted sql.NullBool
			err := on.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", prefix+name).Scan(&granted)
			switch {
			case err != nil:
				return err
			case !granted.Valid:
				return errors.New("GET_LOCK answers NULL")
			case !granted.Bool:
				return locks.ErrTaken
			}
			return nil
		},
		Free: func(ctx context.Context, on sqllock.Conn, name string) (bool, error) {
			var held sql.NullBool // 0: another session has it; NULL: none has
			err := on.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", prefix+name).Scan(&held)
			return held.Bool, err
		},
	}.Opener(connect)
}

// Error codes of the server: no such table, a row that exists already, a row that another
// transaction has, and a transaction rolled back because of a deadlock.
const (
	noSuchTable  = 1146
	duplicateKey = 1062
	lockTimeout  = 1205
	deadlock     = 1213
)

// answers returns a function that reports whether an error is an answer of the server with one of the numbers.
func answers(numbers ...uint16) func(error) bool {
	return func(err error) bool {
		var answer *mysql.MySQLError
		return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
	}
}

// table returns a table that is created if it is missing.
func table(create string) sqllock.Table {
	return sqllock.Table{Create: "CREATE TABLE IF NOT EXISTS " + create + " ENGINE=InnoDB", Missing: answers(noSuchTable), Exists: answers()}
}

var lockNames = table("lock_names (name VARCHAR(190) COLLATE utf8mb4_bin PRIMARY KEY)")

// NewForUpdate returns the opener of mysql-for-update: a row for each name, locked by a SELECT in a
// transaction, and released by its commit.
func NewForUpdate() locks.Opener {
	refused := answers(lockTimeout, deadlock)
	return sqllock.Session{
		Name: "mysql-for-update", Refused: "ROLLBACK",
		Take: func(ctx context.Context, on sqllock.Conn, name string) error {
			err := selectName(ctx, on, name)
			if errors.Is(err, sql.ErrNoRows) {
				if _, err := on.ExecContext(ctx, "ROLLBACK"); err != nil {
					return err
				}
				if _, err := on.ExecContext(ctx, "INSERT IGNORE INTO lock_names (name) VALUES (?)", name); err != nil {
					return err
				}
				err = selectName(ctx, on, name)
			}
			if refused(err) {
				return locks.ErrTaken
			}
			return err
		},
		Free: func(ctx context.Context, on sqllock.Conn, _ string) (bool, error) {
			_, err := on.ExecContext(ctx, "COMMIT")
			return true, err
		},
	}.Opener(connect)
}

// selectName begins a transaction that locks the row of a name.
func selectName(ctx context.Context, on sqllock.Conn, name string) error {
	return lockNames.Do(ctx, on, func() error {
		if _, err := on.ExecContext(ctx, "START TRANSACTION"); err != nil {
			return err
		}
		return on.QueryRowContext(ctx, "SELECT name FROM lock_names WHERE name = ? FOR UPDATE NOWAIT", name).Scan(new(string))
	})
}

const (
	clearRow = "DELETE FROM lock_rows WHERE name = ? AND until <= SYSDATE(6)"
	takeRow  = "INSERT INTO lock_rows (name, holder, until) VALUES (?, ?, SYSDATE(6) + INTERVAL ? MICROSECOND)"
	freeRow  = "DELETE FROM lock_rows WHERE name = ? AND holder = ? AND until > SYSDATE(6)"
	renewRow = "UPDATE lock_rows SET until = SYSDATE(6) + INTERVAL ? MICROSECOND WHERE name = ? AND holder = ? AND until > SYSDATE(6)"
)

// NewRow returns the opener of mysql-row: a row for each name under a unique index, with an end by
// the server's clock. An acquire deletes a row whose end has passed, and then inserts its own.
func NewRow() locks.Opener {
	rolledBack := answers(deadlock)
	refused := answers(duplicateKey, deadlock, lockTimeout) // the last two were rolled back
	row := sqllock.Row{
		Name: "mysql-row", Renew: renewRow, Free: freeRow,
		Table: table("lock_rows (name VARCHAR(190) COLLATE utf8mb4_bin PRIMARY KEY, holder VARCHAR(64) NOT NULL, until DATETIME(6) NOT NULL)"),
		Take: func(ctx context.Context, on sqllock.Conn, name, holder string, ttl time.Duration) (int64, error) {
			_, err := on.ExecContext(ctx, clearRow, name)
			if err == nil || rolledBack(err) {
				_, err = on.ExecContext(ctx, takeRow, name, holder, ttl.Microseconds())
			}
			if refused(err) {
				err = locks.ErrTaken
			}
			return 0, err
		},
	}
	return row.Opener(connect)
}
