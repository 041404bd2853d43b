package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/locktest"
	"lockbench/service"
)

// subject returns the lock for the suite, on a running cluster.
func (s *conformed) subject(c world.Cluster, t locks.Topology) (locktest.Subject, error) {
	subject := locktest.Subject{
		Card: s.entry.Card, Quiet: s.entry.Woken, NoTTL: t == locks.None, OnlyWaits: s.entry.OnlyWaits,
		Excused: maps.Clone(s.entry.Excused),
	}
	if subject.Excused == nil {
		subject.Excused = make(map[string]string)
	}
	opened := &openedClients{}
	if t != locks.None {
		look := newLook(c, opened)
		if look == nil {
			subject.Quiet = false // rules that need it are left out
		} else {
			subject.Server = look
		}
	}
	if s.use.Own() {
		subject.Excused["loss-notice"] = "the suite does not receive notices of guests"
		subject.Excused["wait-cancelled"] = "the protocol cannot cancel a request"
		subject.Excused["cancelled"] = "the protocol cannot cancel a request, and a request whose caller has given up is not sent"
		subject.Open = func(ctx context.Context, id int) (locks.Locker, error) {
			client, err := c.Open(ctx, s.spec(id))
			if err != nil {
				return nil, err
			}
			opened.add(id)
			return &guestLocker{client: client, id: id, of: s}, nil
		}
		return subject, nil
	}
	if among, ok := c.(namespaced); ok {
		subject.Prefix = among.KeyPrefix()
	}
	opener, err := s.entry.New(s.use.Options)
	if err != nil {
		return subject, err
	}
	through := func(ctx context.Context, id int, change func(locktest.Dial) locktest.Dial) (locks.Locker, error) {
		// The lock is called as a library, with the environment of a client of this cluster.
		at, client, err := borrow(ctx, c, id)
		if err != nil {
			return nil, err
		}
		opened.add(id)
		at.Store.Dial = change(at.Store.Dial)
		l, err := opener(ctx, at)
		if err != nil {
			return nil, errors.Join(err, client.Close(ctx))
		}
		return &borrowedLocker{l, client}, nil
	}
	subject.Open = func(ctx context.Context, id int) (locks.Locker, error) {
		return through(ctx, id, func(dial locktest.Dial) locktest.Dial { return dial })
	}
	if t != locks.None {
		subject.OpenThrough = through
	}
	return subject, nil
}

// borrow opens a client of the cluster that does nothing, and returns the environment that the client got.
func borrow(ctx context.Context, c world.Cluster, id int) (locks.Client, world.Client, error) {
	var at locks.Client
	client, err := c.Open(ctx, world.ClientSpec{ID: id, Seed: 1, Opener: func(_ context.Context, c locks.Client) (locks.Locker, error) {
		at = c
		return idle{}, nil
	}})
	return at, client, err
}

// idle is a locker that is never used.
type idle struct{}

func (idle) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	return nil, locks.ErrUnsupported
}

func (idle) Close() error { return nil }

// borrowedLocker closes its client when it is closed.
type borrowedLocker struct {
	locks.Locker
	client world.Client
}

func (l *borrowedLocker) Close() error {
	err := l.Locker.Close()
	ctx, cancel := context.WithTimeout(context.Background(), locktest.Late)
	defer cancel()
	return errors.Join(err, l.client.Close(ctx))
}

// openedClients are the clients whose commands count.
type openedClients struct {
	mu  sync.Mutex
	ids []int
}

func (o *openedClients) add(id int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = append(o.ids, id)
}

func (o *openedClients) names() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, id := range o.ids {
		names = append(names, history.ClientParty(id).String())
	}
	return names
}

// namespaced is a cluster whose servers also have other keys.
type namespaced interface {
	// KeyPrefix returns the beginning of its clients' keys at the servers. lockbench adds it for guests; locks in
	// this process add it themselves.
	KeyPrefix() string
}

// look inspects and changes the servers directly, and not through a client of the lock.
type look struct {
	cluster world.Cluster
	kept    func(context.Context) (map[string]time.Duration, error)
	flush   service.Order
	opened  *openedClients
}

var _ locktest.Server = (*look)(nil)

// newLook returns nil if the service does not tell which keys it has.
func newLook(c world.Cluster, opened *openedClients) *look {
	servers := c.Abilities()
	if servers.Kept == nil || servers.Orders[service.OrderFlush] == nil {
		return nil
	}
	return &look{cluster: c, kept: servers.Kept, flush: servers.Orders[service.OrderFlush], opened: opened}
}

func (l *look) Commands(context.Context) (int, error) {
	n := 0
	for _, name := range l.opened.names() {
		for _, count := range l.cluster.Requests(name) {
			n += count
		}
	}
	return n, nil
}

func (l *look) Keys(ctx context.Context) ([]string, error) {
	kept, err := l.kept(ctx)
	var keys []string
	for k := range kept {
		if !strings.HasPrefix(k, "lockbench:") { // keys of the world itself
			keys = append(keys, k)
		}
	}
	return keys, err
}

func (l *look) Forget(ctx context.Context) error {
	return service.Each(l.cluster.Leaders(ctx), func(node string) error { return l.flush(ctx, service.OrderArgs{Node: node}) })
}

// requestLimit is how long a guest may take to answer a request, in addition to the wait in the
// request. One rule requests a hundred grants of one guest at once.
const requestLimit = 3 * locktest.Late

// guestLocker is a guest as a locker.
type guestLocker struct {
	client   world.Client
	id       int
	of       *conformed
	sessions atomic.Int64
	closed   atomic.Bool
}

// ask sends a request with a time limit. A guest that does not answer its first request ends the suite, because every
// other rule would also wait in vain.
func (g *guestLocker) ask(ctx context.Context, wait time.Duration, send func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, requestLimit+wait)
	defer cancel()
	err := send(limited)
	switch {
	case limited.Err() == nil || ctx.Err() != nil:
		g.of.answered.Store(true)
	case !g.of.answered.Load():
		g.of.silent.Store(true)
		g.of.silence(fmt.Errorf("the guest has not answered its first request within %v: %w", requestLimit+wait, err))
	}
	return err
}

func (g *guestLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	session := fmt.Sprintf("%d.%d", g.id, g.sessions.Add(1))
	start := time.Now()
	var grant guest.Grant
	err := g.ask(ctx, r.Wait, func(ctx context.Context) (err error) {
		grant, err = g.client.Conn().Acquire(ctx, session, r)
		return err
	})
	lease := &guestLease{locker: g, session: session}
	switch {
	case errors.Is(err, guest.ErrBadRequest):
		return nil, fmt.Errorf("%w: %w", locks.ErrUnsupported, err)
	case guest.Definite(err):
		return nil, err
	case err != nil:
		return lease, err
	}
	if grant.Until != nil {
		lease.until = start.Add(*grant.Until)
	}
	if grant.Token != nil {
		lease.token = *grant.Token
	}
	if grant.Renewed {
		return &renewedGuestLease{lease, grant.Lease}, nil
	}
	return lease, nil
}

func (g *guestLocker) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), locktest.Late)
	defer cancel()
	if g.of.silent.Load() {
		cancel() // kills it at once
	}
	gone := g.client.Conn().Err() != nil
	err := g.client.Close(ctx)
	g.of.missteps.Heard(g.id, g.client, gone)
	return err
}

// guestLease is a session as a lease. It supports everything except renewal; the suite only uses what the guest claims.
type guestLease struct {
	locker  *guestLocker
	session string
	token   uint64

	mu    sync.Mutex
	until time.Time
}

func (l *guestLease) Release(ctx context.Context) error {
	return l.locker.ask(ctx, 0, func(ctx context.Context) error {
		return l.locker.client.Conn().Release(ctx, l.session)
	})
}

func (l *guestLease) Renew(ctx context.Context, ttl time.Duration) error {
	start := time.Now()
	var until *time.Duration
	err := l.locker.ask(ctx, 0, func(ctx context.Context) (err error) {
		until, err = l.locker.client.Conn().Renew(ctx, l.session, ttl)
		return err
	})
	if err == nil && until != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.until = start.Add(*until)
	}
	return err
}

func (l *guestLease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

func (l *guestLease) Token() uint64 { return l.token }

// renewedGuestLease is a lease that the guest's library renews.
type renewedGuestLease struct {
	*guestLease
	by time.Duration
}

func (l *renewedGuestLease) Lease() time.Duration { return l.by }
