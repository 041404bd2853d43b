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

// connectionsMax is how many connections one client opens at most: one for each name that it holds, and
// one for requests.
const connectionsMax = 8

// quiet drops the log of the client library, which also returns the errors.
type quiet struct{}

func (quiet) Print(...any) {}

// connect makes a client's pool. The pool connects when it is first used.
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

// sessions are the connections of a client's pool that hold locks.
type sessions struct {
	db *sql.DB

	mu   sync.Mutex
	held map[*sql.Conn]struct{}
}

// take takes a connection out of the pool until it is put back.
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

// put puts a connection back. If it may still hold a lock, it is closed, which releases the lock.
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

// Close closes all connections, which releases their locks.
func (s *sessions) Close() error {
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	for _, c := range held {
		s.put(c, false)
	}
	return s.db.Close()
}

// lease is a lock that a connection holds.
type lease struct {
	by         *sessions
	lock, name string
	own        *sql.Conn // nil: a connection of the pool holds it
	// free releases the lock. It reports false if the connection did not hold it.
	free func(ctx context.Context) (held bool, err error)

	mu    sync.Mutex
	ended bool // its own connection was put back
}

// Release releases the lock, and puts its connection back.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	held, err := l.free(ctx)
	l.by.put(l.own, err == nil)
	l.ended = l.own != nil
	switch {
	case l.own != nil && over(err):
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("%s: release %q: %w", l.lock, l.name, err)
	case !held:
		return locks.ErrNotHeld
	}
	return nil
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, limit)
}

// ending is the context of a release. It ignores the end of the caller's context, because a lock
// that is not released is held for as long as its connection lives.
func ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return bounded(context.WithoutCancel(ctx))
}

// leaseless returns the one name of a request to a lock without leases.
func leaseless(r locks.Request) (string, error) {
	if r.TTL != 0 {
		return "", fmt.Errorf("%w: a ttl of %v; what is held ends with its connection, and with nothing else", locks.ErrUnsupported, r.TTL)
	}
	return plain.Key(r)
}

// Error codes of the server: no such table, a row that exists already, a row that another
// transaction has, and a transaction rolled back because of a deadlock.
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
