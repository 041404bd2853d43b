package sqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// Session is a kind of lock that a connection holds, until it releases the lock or ends. It has no lease.
type Session struct {
	Name string // of the lock, for errors
	// Pooled executes each statement on any connection of the pool. That is wrong: a session that holds a lock is granted it
	// again, and a session that does not hold it cannot release it.
	Pooled bool
	// Take tries once to take a lock. It returns [locks.ErrTaken] if another session holds it.
	Take func(ctx context.Context, on Conn, name string) error
	// Refused, if not empty, is the statement after a refusal.
	Refused string
	// Free releases a lock. It reports false if the session did not hold it.
	Free func(ctx context.Context, on Conn, name string) (held bool, err error)
	// Cut, if not nil, closes the driver's connection without a message to the server.
	Cut func(driverConn any)
}

// Opener returns the opener of the lock.
func (s Session) Opener(connect Connect) locks.Opener {
	return connect.opener(s.Name, func(db *sql.DB, _ locks.Client) locks.Locker {
		return &sessions{Session: s, db: db, held: map[*sql.Conn]struct{}{}}
	})
}

// sessions are the connections of a client's pool that hold locks.
type sessions struct {
	Session
	db *sql.DB

	mu   sync.Mutex
	held map[*sql.Conn]struct{}
}

// Acquire tries once, on a connection of its own.
func (s *sessions) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if r.TTL != 0 {
		return nil, fmt.Errorf("%s: %w: a ttl of %v; the lock ends with its connection, and has no lease", s.Name, locks.ErrUnsupported, r.TTL)
	}
	name, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	l := &sessionLease{by: s, name: name, on: s.db}
	if !s.Pooled {
		if l.own, err = s.take(ctx); err != nil {
			return nil, fmt.Errorf("%s: connect: %w", s.Name, err)
		}
		l.on = l.own
	}
	err = s.Take(ctx, l.on, name)
	switch {
	case err == nil:
		return l, nil
	case !errors.Is(err, locks.ErrTaken):
		return l, fmt.Errorf("%s: acquire: %w", s.Name, err)
	}
	var failed error
	if s.Refused != "" {
		_, failed = l.on.ExecContext(ctx, s.Refused)
	}
	s.put(l.own, failed == nil)
	return nil, locks.ErrTaken
}

// take takes a connection out of the pool until it is put back.
func (s *sessions) take(ctx context.Context) (*sql.Conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[c] = struct{}{}
	return c, nil
}

// put puts a connection back. If it may still hold a lock, put closes it, which releases the lock.
func (s *sessions) put(c *sql.Conn, clean bool) {
	s.mu.Lock()
	_, held := s.held[c]
	delete(s.held, c)
	s.mu.Unlock()
	if !held {
		return
	}
	if !clean {
		_ = c.Raw(func(conn any) error {
			if s.Cut != nil {
				s.Cut(conn)
			}
			return driver.ErrBadConn // the pool closes such a connection
		})
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

// sessionLease is a lock that a connection holds.
type sessionLease struct {
	by   *sessions
	name string
	own  *sql.Conn // nil if a connection of the pool holds it
	on   Conn

	mu    sync.Mutex
	ended bool // its own connection was put back
}

// Release releases the lock, and puts its connection back. It ignores the end of the caller's context, because a lock that
// is not released is held for as long as its connection lives.
func (l *sessionLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	ctx, cancel := bounded(context.WithoutCancel(ctx))
	defer cancel()
	held, err := l.by.Free(ctx, l.on, l.name)
	l.by.put(l.own, err == nil)
	l.ended = l.own != nil
	switch {
	case l.own != nil && neverSent(err): // the session has ended, and with it the lock
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("%s: release %q: %w", l.by.Name, l.name, err)
	case !held:
		return locks.ErrNotHeld
	}
	return nil
}
