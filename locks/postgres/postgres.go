// Package postgres has the locks that people make of PostgreSQL, with the client pgx:
//
//	pg-advisory       pg_try_advisory_lock, held by a connection
//	pg-advisory-xact  pg_try_advisory_xact_lock, held by a transaction
//	pg-row            a row for each name, with an end by the server's clock and a number
//
// The first two have no lease. What they hold is gone when the server or the connection is,
// and nobody tells the client, who works on. A connection that is only silent holds on until
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

	"github.com/jackc/pgx/v5/pgxpool"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
	"lockbench/service/postgres"
)

// limit is how long one statement may take, with the connection that it needs.
const limit = 3 * time.Second

// connectionsMax is how many one client opens at most: one for each name that it holds, and
// one to ask on.
const connectionsMax = 8

// connect makes a client's pool. It connects when it is asked something.
func connect(ctx context.Context, c locks.Client, lock string) (*pgxpool.Pool, error) {
	nodes := c.Store.Nodes()
	if c.Store.Service != postgres.Name || len(nodes) == 0 {
		return nil, fmt.Errorf("%s: %w: it needs a PostgreSQL", lock, locks.ErrUnsupported)
	}
	cfg, err := pgxpool.ParseConfig(fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable",
		c.Store.Params[postgres.User], nodes[0].Addr, c.Store.Params[postgres.Database]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
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

// sessions are the connections that one client holds locks by, of its pool.
type sessions struct {
	pool *pgxpool.Pool

	mu   sync.Mutex
	held map[*pgxpool.Conn]struct{}
}

// take takes a connection that nobody else uses until it is put back.
func (s *sessions) take(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[*pgxpool.Conn]struct{}{}
	}
	s.held[c] = struct{}{}
	return c, nil
}

// put gives a connection back. One of which it is not known what it holds is closed, and
// with it goes what that was.
func (s *sessions) put(c *pgxpool.Conn, clean bool) {
	s.mu.Lock()
	_, held := s.held[c]
	delete(s.held, c)
	s.mu.Unlock()
	switch {
	case !held:
	case clean:
		c.Release()
	default:
		ctx, cancel := bounded(context.Background())
		defer cancel()
		_ = c.Hijack().Close(ctx) // it may be broken already
	}
}

// Close closes all connections, and with them what is held.
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

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, limit)
}

// leaseless returns the one name that is asked for, of a lock that has no lease to give.
func leaseless(r locks.Request) (string, error) {
	if r.TTL != 0 {
		return "", fmt.Errorf("%w: a ttl of %v; what is held ends with its connection, and with nothing else", locks.ErrUnsupported, r.TTL)
	}
	return plain.Key(r)
}
