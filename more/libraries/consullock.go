//go:build !wasip1

package libraries

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"lockbench/locks"
)

// consulSettings are what its users set.
type consulSettings struct {
	session        time.Duration
	lockDelay      time.Duration
	monitorRetries int
	monitorWait    time.Duration
	timeout        time.Duration
}

// openConsulLock is the Lock of Consul's client, on a session that it opens for each grant.
func openConsulLock(o Options) (locks.Opener, error) {
	s := consulSettings{
		session: o.duration("session-ttl", 15*time.Second), lockDelay: o.duration("lock-delay", 15*time.Second),
		monitorRetries: o.number("monitor-retries", 0), monitorWait: o.duration("monitor-retry-time", api.DefaultMonitorRetryTime),
		timeout: o.duration("timeout", 0),
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		transport := api.DefaultConfig().Transport
		if dial := c.Store.Dial; dial != nil {
			transport.DialContext = dial
		}
		client, err := api.NewClient(&api.Config{
			Address: c.Store.Nodes()[0].Addr, HttpClient: &http.Client{Transport: transport, Timeout: s.timeout},
		})
		if err != nil {
			return nil, err
		}
		return &consulLocker{of: c, client: client, transport: transport, settings: s}, nil
	}, nil
}

type consulLocker struct {
	of        locks.Client
	client    *api.Client
	transport *http.Transport
	settings  consulSettings
	closed    atomic.Bool
}

// Close ends no session: those that are still held are renewed as long as the process lives.
// The library's client has nothing to close.
func (l *consulLocker) Close() error {
	l.closed.Store(true)
	l.transport.CloseIdleConnections()
	return nil
}

// tryTime is how long a try may wait for another's release: 0 would be the 15 seconds that the
// library waits by default.
const tryTime = time.Millisecond

func (l *consulLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" {
		return nil, fmt.Errorf("consul-lock: one key, alone, for nobody in particular: %w", locks.ErrUnsupported)
	}
	if l.closed.Load() {
		return nil, errors.New("consul-lock: it was closed")
	}
	held := &consulLease{ttl: r.TTL}
	if held.ttl == 0 {
		held.ttl = l.settings.session
	}
	owner := fmt.Sprintf("%d-%016x", l.of.ID, l.of.Rand.Uint64())
	var err error
	held.lock, err = l.client.LockOpts(&api.LockOptions{
		Key: r.Keys[0], Value: []byte(owner), SessionTTL: held.ttl.String(), LockDelay: l.settings.lockDelay,
		LockTryOnce: true, LockWaitTime: max(r.Wait, tryTime),
		MonitorRetries: l.settings.monitorRetries, MonitorRetryTime: l.settings.monitorWait,
	})
	if err != nil {
		return nil, err
	}
	held.lost, err = held.lock.Lock(ctx.Done())
	switch {
	case err != nil && strings.Contains(err.Error(), "Invalid Session TTL"):
		return nil, fmt.Errorf("%w: %w; the servers' session_ttl_min says from when on, and --ttl what is asked for", locks.ErrUnsupported, err)
	case err != nil:
		return held, err
	case held.lost == nil && ctx.Err() != nil:
		return nil, ctx.Err() // it was given up, and nobody has said that it is taken
	case held.lost == nil:
		return nil, locks.ErrTaken
	}
	held.token, err = l.lockIndex(r.Keys[0], owner)
	return held, err
}

// lockIndex is how often a key was granted. The library does not tell it, and Consul's guide to
// sessions has whoever holds a key read it and hand it to what the lock guards.
func (l *consulLocker) lockIndex(key, owner string) (uint64, error) {
	pair, _, err := l.client.KV().Get(key, &api.QueryOptions{RequireConsistent: true})
	switch {
	case err != nil:
		return 0, fmt.Errorf("it was granted, and its number cannot be read: %w", err)
	case pair == nil || pair.Session == "" || string(pair.Value) != owner:
		return 0, errors.New("it was granted, and lost before its number was read")
	}
	return pair.LockIndex, nil
}

// consulLease is one grant of a key to a session.
type consulLease struct {
	lock  *api.Lock
	lost  <-chan struct{} // nil: nobody knows whether it was granted
	ttl   time.Duration
	token uint64

	mu       sync.Mutex
	released bool
}

var (
	_ locks.Renewed = (*consulLease)(nil)
	_ locks.Watched = (*consulLease)(nil)
	_ locks.Fenced  = (*consulLease)(nil)
)

// Lease is the ttl of the session. Servers end one that is not renewed after twice as long.
func (l *consulLease) Lease() time.Duration  { return l.ttl }
func (l *consulLease) Lost() <-chan struct{} { return l.lost }

// Token is how often the key was granted.
func (l *consulLease) Token() uint64 { return l.token }

// Release is Unlock. It does not tell whether there was anything to release, and what it says
// is what is said here.
func (l *consulLease) Release(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.lock.Unlock()
	switch {
	case err == nil:
		l.released = true
	case errors.Is(err, api.ErrLockNotHeld) && l.released:
		return fmt.Errorf("%w: %w", locks.ErrNotHeld, err)
	case errors.Is(err, api.ErrLockNotHeld):
		// Lock or Unlock has failed before, and the library ends the session by itself.
		return fmt.Errorf("whether it was held nobody knows: %w", err)
	}
	return err
}
