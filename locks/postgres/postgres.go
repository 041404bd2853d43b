// Package postgres has the locks that people make of PostgreSQL, with the client pgx:
//
//	pg-advisory       pg_try_advisory_lock, held by a connection
//	pg-advisory-xact  pg_try_advisory_xact_lock, held by a transaction
//	pg-row            a row for each name, with an end by the server's clock and a number
//
// The first two have no lease. Their hold ends with the server or the connection, and the
// client is not notified and works on. A connection that is only silent holds on until
// the server's TCP gives it up.
package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
	"lockbench/service/postgres"
)

// limit is how long one statement may take, with the connection that it needs.
const limit = 3 * time.Second

// connectionsMax is how many connections one client opens at most: one for each name that it holds, and
// one for requests.
const connectionsMax = 8

// connect makes a client's pool. The pool connects when it is first used.
func connect(ctx context.Context, c locks.Client, lock string) (*pgxpool.Pool, error) {
	nodes := c.Store.Nodes()
	if c.Store.Service != postgres.Name || len(nodes) == 0 {
		return nil, fmt.Errorf("%s: %w: it needs a PostgreSQL", lock, locks.ErrUnsupported)
	}
	cfg, err := pgxpool.ParseConfig("postgres://" + nodes[0].Addr + "/?sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	to, params := cfg.ConnConfig, c.Store.Params
	to.User, to.Password, to.Database = params[postgres.User], params[postgres.Password], params[postgres.Database]
	if schema := params[postgres.Schema]; schema != "" {
		to.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	}
	cfg.MaxConns = connectionsMax
	if c.Store.Dial != nil {
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.Store.Dial(ctx, network, addr)
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	return pool, nil
}

// session is a connection of a pool, with one user at a time.
type session struct {
	*pgx.Conn
	of *pgxpool.Conn // nothing once it was put back
}

// sessions are the connections of a client's pool that hold locks.
type sessions struct {
	pool *pgxpool.Pool

	mu   sync.Mutex
	held map[*session]struct{}
}

// take takes a connection out of the pool until it is put back.
func (s *sessions) take(ctx context.Context) (*session, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	own := &session{c.Conn(), c}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[*session]struct{}{}
	}
	s.held[own] = struct{}{}
	return own, nil
}

// put puts a connection back. If it may still hold a lock, it is closed, which releases the lock.
func (s *sessions) put(own *session, clean bool) {
	s.mu.Lock()
	_, held := s.held[own]
	delete(s.held, own)
	s.mu.Unlock()
	switch {
	case !held:
	case clean:
		own.of.Release()
	default:
		// At once: pgx itself, when a context ends, asks the server to stop what it does, and
		// waits for the answer before it closes.
		_ = own.PgConn().Conn().Close() // it may be broken already
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = own.of.Hijack().Close(ctx)
	}
}

// over tells whether a connection was closed, and with its session what it held is gone.
func (s *sessions) over(own *session) bool {
	s.mu.Lock()
	_, held := s.held[own]
	s.mu.Unlock()
	if held && !own.IsClosed() {
		return false
	}
	s.put(own, false)
	return true
}

// Close closes all connections, which releases their locks.
func (s *sessions) Close() error {
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	for _, c := range held {
		s.put(c, false)
	}
	s.pool.Close()
	return nil
}

// lease is a lock that a connection holds.
type lease struct {
	by         *sessions
	lock, name string
	own        *session // nil: a connection of the pool holds it
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
	l.ended = l.own != nil
	if l.own != nil && l.by.over(l.own) {
		return locks.ErrNotHeld
	}
	ctx, cancel := ending(ctx)
	defer cancel()
	held, err := l.free(ctx)
	l.by.put(l.own, err == nil)
	switch {
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
