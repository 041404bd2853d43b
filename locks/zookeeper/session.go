// Package zookeeper has locks on ZooKeeper, by github.com/go-zookeeper/zk: the recipe of
// ephemeral sequential nodes with all precautions of Apache Curator, and the client library's
// own Lock.
//
// A holder has a node that its session has created. The servers end a session, and delete its
// nodes, when they have not heard from the client for the session's timeout. So the lease of these
// locks is that timeout, and the library keeps the session alive. If the connection breaks, the
// client does not know whether its session still exists until it finds another server.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/service/zookeeper"
	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// Options are the settings of the locks.
type Options struct {
	// Session is how long a session outlives its client, where a request asks for no ttl.
	Session time.Duration
	// Limit is how long an acquire or a release may take in addition to its wait.
	Limit time.Duration
	// Suspended lets a holder continue without a connection, until a server reports that
	// its session has expired.
	Suspended bool
}

// ttlMax limits sessions: servers count milliseconds in 31 bits.
const ttlMax = 24 * time.Hour

// client is one client of the servers, with a session for each ttl that was requested.
type client struct {
	what    string
	options Options
	store   locks.Store
	tokens  *plain.Tokens

	mu       sync.Mutex
	closed   chan struct{}
	sessions map[time.Duration]*session
}

func open(what string, o Options, c locks.Client) (*client, error) {
	if c.Store.Service != zookeeper.Name {
		return nil, fmt.Errorf("%w: %s is for %s, and not for %q", locks.ErrUnsupported, what, zookeeper.Name, c.Store.Service)
	}
	return &client{
		what: what, options: o, store: c.Store, tokens: plain.NewTokens(c),
		closed: make(chan struct{}), sessions: map[time.Duration]*session{},
	}, nil
}

// asked returns the folder of a request's lock and the session for it.
func (c *client) asked(r locks.Request) (dir string, s *session, err error) {
	wait := r.Wait
	r.Wait = 0
	key, err := plain.Key(r)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s: %w", c.what, err)
	case wait < 0:
		return "", nil, fmt.Errorf("%s: %w: a negative wait, %v", c.what, locks.ErrUnsupported, wait)
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = c.options.Session
	}
	if ttl < time.Millisecond || ttl > ttlMax {
		return "", nil, fmt.Errorf("%s: %w: a session of %v; ask for 1ms to %v", c.what, locks.ErrUnsupported, ttl, ttlMax)
	}
	s, err = c.session(ttl.Truncate(time.Millisecond))
	return "/lock-" + url.PathEscape(key), s, err
}

// session returns the session for a ttl.
func (c *client) session(ttl time.Duration) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil, fmt.Errorf("%s: %w", c.what, plain.ErrClosed)
	}
	if s := c.sessions[ttl]; s != nil {
		return s, nil
	}
	s := &session{ttl: ttl, suspended: c.options.Suspended, holds: map[chan struct{}]struct{}{}}
	var servers []string
	for _, n := range c.store.Nodes() {
		servers = append(servers, n.Addr)
	}
	var err error
	s.conn, _, err = zk.Connect(servers, ttl, zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithDialer(c.dial), zk.WithEventCallback(s.hear))
	if err != nil {
		return nil, fmt.Errorf("%s: open a session: %w", c.what, err)
	}
	c.sessions[ttl] = s
	return s, nil
}

func (c *client) dial(network, addr string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if c.store.Dial != nil {
		return c.store.Dial(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func (c *client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Close ends the sessions, which releases every lock that they hold.
func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil
	}
	close(c.closed)
	var all sync.WaitGroup
	for _, s := range c.sessions {
		all.Go(s.conn.Close)
	}
	all.Wait()
	return nil
}

// session is a session of ZooKeeper, and the next one if the servers have ended it.
type session struct {
	conn      *zk.Conn
	ttl       time.Duration
	suspended bool

	mu    sync.Mutex
	holds map[chan struct{}]struct{} // one for each hold: closed when it is lost
}

// hear is called for each event, and must not block.
func (s *session) hear(e zk.Event) {
	if e.Type != zk.EventSession || e.State != zk.StateExpired && (s.suspended || e.State != zk.StateDisconnected) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for lost := range s.holds {
		close(lost)
	}
	clear(s.holds)
}

// hold registers a hold, and returns a channel that is closed when it is lost.
func (s *session) hold() chan struct{} {
	lost := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[lost] = struct{}{}
	return lost
}

// drop removes a hold that was released.
func (s *session) drop(lost chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, lost)
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// remove deletes a node. It returns ErrNotHeld if there is no such node.
func (s *session) remove(path string) error {
	err := s.conn.Delete(path, -1)
	if errors.Is(err, zk.ErrNoNode) {
		return locks.ErrNotHeld
	}
	return err
}

var anybody = zk.WorldACL(zk.PermAll)
