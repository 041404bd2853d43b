// Package mariadb has the locks that people make of MySQL and MariaDB, with the client
// go-sql-driver/mysql under database/sql:
//
//	mysql-row         a row for each name under a unique index
//	mysql-get-lock    GET_LOCK, held by a connection
//	mysql-for-update  SELECT ... FOR UPDATE on a row, held by a transaction
//
// The last two have no lease. What they hold is gone when the server or the connection is,
// and nobody tells the client, who works on. A connection that is only silent holds on until
// the server's TCP gives it up, or wait_timeout.
package mariadb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
	"lockbench/service/mariadb"
)

// limit is how long one statement may take, with the connection that it needs.
const limit = 3 * time.Second

// connectionsMax is how many one client opens at most: one for each name that it holds, and
// one to ask on.
const connectionsMax = 8

// quiet hears nothing of what the client library has to say: errors are returned as well.
type quiet struct{}

func (quiet) Print(...any) {}

// connect makes a client's pool. It connects when it is asked something.
func connect(c locks.Client, lock string) (*sql.DB, error) {
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
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connectionsMax)
	db.SetMaxIdleConns(connectionsMax)
	return db, nil
}

// sessions are the connections that one client holds locks by, of its pool.
type sessions struct {
	db *sql.DB

	mu   sync.Mutex
	held map[*sql.Conn]struct{}
}

// take takes a connection that nobody else uses until it is put back.
func (s *sessions) take(ctx context.Context) (*sql.Conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[*sql.Conn]struct{}{}
	}
	s.held[c] = struct{}{}
	return c, nil
}

// put gives a connection back. One of which it is not known what it holds is closed, and
// with it goes what that was.
func (s *sessions) put(c *sql.Conn, clean bool) {
	s.mu.Lock()
	_, held := s.held[c]
	delete(s.held, c)
	s.mu.Unlock()
	if !held {
		return
	}
	if !clean {
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // the pool closes such a one
	}
	_ = c.Close()
}

// Close closes all connections, and with them what is held.
func (s *sessions) Close() error {
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	for _, c := range held {
		s.put(c, false)
	}
	return s.db.Close()
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, limit)
}

// ending is the context of a release, which goes on when its caller has given up: who does not
// give a lock back holds it for as long as the connection lives.
func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return bounded(context.WithoutCancel(ctx))
}

// leaseless returns the one name that is asked for, of a lock that has no lease to give.
func leaseless(r locks.Request) (string, error) {
	if r.TTL != 0 {
		return "", fmt.Errorf("%w: a ttl of %v; what is held ends with its connection, and with nothing else", locks.ErrUnsupported, r.TTL)
	}
	return plain.Key(r)
}

// What the server says when there is no such table, when a row is there already, when
// another has the row, and when it has undone a transaction that waited in a ring.
const (
	noSuchTable  = 1146
	duplicateKey = 1062
	lockTimeout  = 1205
	deadlock     = 1213
)

// over tells whether an error says that nothing was sent on a connection of one's own, since that had
// ended before: with its session what it held is over.
func over(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// said tells whether an error is an answer of the server with one of the numbers.
func said(err error, numbers ...uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}

// made calls do, and makes the table if there is none: then nothing was done.
func made(ctx context.Context, on execer, table string, do func() error) error {
	err := do()
	if !said(err, noSuchTable) {
		return err
	}
	if _, err := on.ExecContext(ctx, table); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	return do()
}

// execer is a connection, or a pool of them.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
