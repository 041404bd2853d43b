package conform

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
	"lockbench/internal/service"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/locktest"
)

// subject returns the lock for the suite, on a running cluster.
func (s *Suite) subject(c world.Cluster, t locks.Topology) (locktest.Subject, error) {
	subject := locktest.Subject{
		Card: s.entry.Card, Quiet: s.entry.Woken, NoTTL: t == locks.None, OnlyWaits: s.entry.CannotTry(s.use.Options),
		Excused: map[string]string{},
	}
	maps.Copy(subject.Excused, s.entry.Excused)
	if t != locks.None {
		if able := c.Abilities(); able.Kept != nil && able.Orders[service.OrderFlush] != nil {
			subject.Server = &servers{c, able.Kept, able.Orders[service.OrderFlush]}
		} else {
			subject.Quiet = false // rules that need to look into servers are left out
		}
	}
	if s.use.Own() {
		subject.Excused["loss-notice"] = "the suite does not receive notices of guests"
		subject.Excused["wait-cancelled"] = "the protocol cannot cancel a request"
		subject.Excused["cancelled"] = "the protocol cannot cancel a request, and a request whose caller has given up is not sent"
		subject.Open = func(ctx context.Context, id int) (locks.Locker, error) { return s.open(ctx, c, id) }
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
		// The suite calls the lock as a library, in the environment of a client of this cluster.
		var l locks.Locker
		client, err := c.Open(ctx, world.ClientSpec{ID: id, Seed: 1, Opener: func(_ context.Context, at locks.Client) (_ locks.Locker, err error) {
			at.Store.Dial = change(at.Store.Dial)
			l, err = opener(ctx, at)
			return l, err
		}})
		if err != nil {
			return nil, err
		}
		return &libraryLocker{l, client}, nil
	}
	subject.Open = func(ctx context.Context, id int) (locks.Locker, error) {
		return through(ctx, id, func(dial locktest.Dial) locktest.Dial { return dial })
	}
	if t != locks.None {
		subject.OpenThrough = through
	}
	return subject, nil
}

// libraryLocker also closes its client, which closes the lock a second time.
type libraryLocker struct {
	locks.Locker
	client world.Client
}

func (l *libraryLocker) Close() error {
	err := l.Locker.Close()
	ctx, cancel := context.WithTimeout(context.Background(), locktest.Late)
	defer cancel()
	_ = l.client.Close(ctx)
	return err
}

// namespaced is a cluster whose servers also have other keys.
type namespaced interface {
	// KeyPrefix returns the beginning of its clients' keys at the servers. lockbench adds it for guests; locks in
	// this process add it themselves.
	KeyPrefix() string
}

// servers inspects and changes the servers directly, and not through a client of the lock.
type servers struct {
	cluster world.Cluster
	kept    func(context.Context) (map[string]time.Duration, error)
	flush   service.Order
}

var _ locktest.Server = (*servers)(nil)

func (d *servers) Commands(context.Context) (int, error) {
	n := 0
	for id := range clients {
		for _, count := range d.cluster.Requests(history.ClientParty(id).String()).Counts() {
			n += count
		}
	}
	return n, nil
}

func (d *servers) Keys(ctx context.Context) ([]string, error) {
	kept, err := d.kept(ctx)
	var keys []string
	for k := range kept {
		if !strings.HasPrefix(k, "lockbench:") { // keys of the world itself
			keys = append(keys, k)
		}
	}
	return keys, err
}

func (d *servers) Forget(ctx context.Context) error {
	return service.Each(d.cluster.Leaders(ctx), func(node string) error { return d.flush(ctx, service.OrderArgs{Node: node}) })
}

// requestLimit is how long a guest may take to answer a request, in addition to the wait in the
// request. One rule requests a hundred grants of one guest at once.
const requestLimit = 3 * locktest.Late

// open opens a client of a guest.
func (s *Suite) open(ctx context.Context, c world.Cluster, id int) (locks.Locker, error) {
	client, err := c.Open(ctx, s.client(id))
	if err != nil {
		return nil, err
	}
	return &guestLocker{client: client, id: id, missteps: &s.missteps}, nil
}

// probe opens a guest and sends it one request, so that a guest that cannot be opened or never answers causes one error
// instead of one for each rule.
func (s *Suite) probe(ctx context.Context, c world.Cluster) error {
	l, err := s.open(ctx, c, 0)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the rules also ignore the result
	lease, err := l.Acquire(ctx, locks.Request{Keys: []string{"probe"}})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the guest has not answered its first request within %v: %w", requestLimit, err)
	}
	if err == nil {
		_ = lease.Release(ctx)
	}
	return nil
}

// guestLocker is a guest as a locker.
type guestLocker struct {
	client   world.Client
	id       int
	missteps *trial.Missteps
	sessions atomic.Int64
	closed   atomic.Bool
}

func (g *guestLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	session := fmt.Sprintf("%d.%d", g.id, g.sessions.Add(1))
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, requestLimit+r.Wait)
	defer cancel()
	grant, err := g.client.Conn().Acquire(ctx, session, r)
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
	gone := g.client.Conn().Err() != nil
	err := g.client.Close(ctx)
	g.missteps.Heard(g.id, g.client, gone)
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
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	return l.locker.client.Conn().Release(ctx, l.session)
}

func (l *guestLease) Renew(ctx context.Context, ttl time.Duration) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	until, err := l.locker.client.Conn().Renew(ctx, l.session, ttl)
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
