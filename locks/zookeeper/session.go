// Package zookeeper has locks on ZooKeeper, by github.com/go-zookeeper/zk: the recipe of
// ephemeral sequential nodes with all its precautions, each of which can be left out, and the
// client library's own Lock.
//
// What they hold is a node that a session has made. The session ends when the servers have
// heard nothing of it for as long as it is for, and all its nodes go with it. So a lease here
// is that time, and the library keeps it alive. A connection may end before: then the client
// does not know any more whether its session lives, until it finds another server.
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

	"lockbench/locks"
	"lockbench/locks/internal/plain"
	"lockbench/service/zookeeper"
)

// Options are what users of ZooKeeper decide.
type Options struct {
	// Session is how long a session outlives its client, where a request asks for no ttl.
	Session time.Duration
	// Limit is how long an acquire or a release may take beside the wait.
	Limit time.Duration
	// Unprotected leaves out the mark of a node's maker in its name. A create of which nobody
	// has heard leaves a node that nobody knows as his own.
	Unprotected bool
	// Unguaranteed leaves out what goes on after a delete that got no answer.
	Unguaranteed bool
	// WatchAll lets each waiter watch all nodes, and not the one before its own alone.
	WatchAll bool
	// Suspended is a holder that goes on without a connection, until a server tells it that
	// its session has expired.
	Suspended bool
	// BySequence takes the number in a node's name for the token, and not the transaction that
	// made it.
	BySequence bool
}

// limits of the sessions that are asked for: the servers' own are milliseconds in 31 bits.
const ttlMax = 24 * time.Hour

// client is one client of the servers, with a session for each ttl that it was asked for.
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

// asked is the folder of a request's lock, and the session for it.
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

// session is that for a ttl.
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

// Close ends the sessions, and with them all that is held.
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
	holds map[chan struct{}]struct{} // of all that is held in it: closed when it is lost
}

// hear is called with each event, and must not wait.
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

// hold is closed when what is held from now on is lost.
func (s *session) hold() chan struct{} {
	lost := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[lost] = struct{}{}
	return lost
}

// drop ends a hold: its holder has given it back.
func (s *session) drop(lost chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, lost)
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// remove deletes a node. A node that is not there is told apart.
func (s *session) remove(path string) error {
	err := s.conn.Delete(path, -1)
	if errors.Is(err, zk.ErrNoNode) {
		return locks.ErrNotHeld
	}
	return err
}

var anybody = zk.WorldACL(zk.PermAll)
