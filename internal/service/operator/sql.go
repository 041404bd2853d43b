package operator

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"lockbench/internal/service"
)

// Dial makes the connection of a session.
type Dial func(context.Context) (net.Conn, error)

// SQL are sessions with the nodes of a cluster, one with each, past all faults. They are kept, because each
// costs a thread or a process of the server, and roles are queried twenty times a second.
type SQL struct {
	host service.Host
	open func(Dial) (*sql.DB, error)

	mu    sync.Mutex
	kept  map[string]*sql.DB
	conns map[string]net.Conn
}

// NewSQL returns the sessions with the nodes of a host. Open prepares sessions on connections, see [OpenDB].
func NewSQL(h service.Host, open func(Dial) (*sql.DB, error)) *SQL {
	return &SQL{host: h, open: open, kept: map[string]*sql.DB{}, conns: map[string]net.Conn{}}
}

// explained replaces the errors of a connector.
type explained struct {
	driver.Connector
	explain func(error) error
}

func (e explained) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := e.Connector.Connect(ctx)
	if err != nil {
		return nil, e.explain(err)
	}
	return c, nil
}

// OpenDB returns a handle with one session at a time. Explain replaces errors of a login.
func OpenDB(c driver.Connector, explain func(error) error) *sql.DB {
	db := sql.OpenDB(explained{c, explain})
	db.SetMaxOpenConns(1)
	return db
}

func (s *SQL) db(node string) (db *sql.DB, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if db = s.kept[node]; db != nil {
		return db, nil
	}
	db, err = s.open(func(ctx context.Context) (net.Conn, error) {
		c, err := s.host.Dial(ctx, node)
		if err == nil {
			s.mu.Lock()
			s.conns[node] = c
			s.mu.Unlock()
		}
		return c, err
	})
	if err == nil {
		s.kept[node] = db
	}
	return db, err
}

// Session calls do in a session with a node. If an old session has ended with the server, it calls do again
// in a new one; all callers tolerate that.
func (s *SQL) Session(ctx context.Context, node string, limit time.Duration, do func(context.Context, *sql.Conn) error) error {
	if is := s.host.Status(node); is.Why != nil {
		return fmt.Errorf("%s: %w", node, is.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	db, err := s.db(node)
	if err != nil {
		return err
	}
	old := db.Stats().OpenConnections > 0
	if err = inSession(ctx, db, do); err != nil && old && ctx.Err() == nil {
		err = inSession(ctx, db, do)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	return nil
}

func inSession(ctx context.Context, db *sql.DB, do func(context.Context, *sql.Conn) error) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, c)
}

// Exec executes statements without results.
func Exec(ctx context.Context, c *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Order executes statements without results on a node.
func (s *SQL) Order(ctx context.Context, node string, limit time.Duration, statements ...string) error {
	return s.Session(ctx, node, limit, func(ctx context.Context, c *sql.Conn) error { return Exec(ctx, c, statements...) })
}

// Row queries one row of a node.
func (s *SQL) Row(ctx context.Context, node, query string, into ...any) error {
	return s.Session(ctx, node, service.AskLimit, func(ctx context.Context, c *sql.Conn) error {
		return c.QueryRowContext(ctx, query).Scan(into...)
	})
}

// Close ends the sessions. It does not wait for the servers, which may be paused.
func (s *SQL) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	for _, db := range s.kept {
		_ = db.Close() // the connection is closed
	}
	return nil
}

// Carry lets a server send a load back on a new connection.
func (s *SQL) Carry(ctx context.Context, c net.Conn, load int) error {
	db, err := s.open(service.Once(c))
	if err != nil {
		return err
	}
	defer db.Close()
	back := ""
	err = db.QueryRowContext(ctx, "SELECT '"+strings.Repeat("x", load)+"'").Scan(&back)
	if err == nil && len(back) != load {
		err = fmt.Errorf("of %d bytes %d came back", load, len(back))
	}
	return err
}
