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

// consulSettings are the options of users.
type consulSettings struct {
	session        time.Duration
	lockDelay      time.Duration
	monitorRetries int
	monitorWait    time.Duration
	timeout        time.Duration
}

// openConsulLock opens the Lock of Consul's client, with a new session for each grant.
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

// Close ends no session: sessions of held locks are renewed as long as the process lives. The library's client needs no
// closing.
func (l *consulLocker) Close() error {
	l.closed.Store(true)
	l.transport.CloseIdleConnections()
	return nil
}

// tryTime is how long an attempt waits for a release. 0 would mean the library's default of 15 seconds.
const tryTime = time.Millisecond

func (l *consulLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" {
		return nil, fmt.Errorf("consul-lock: requests must have one key, exclusive mode and no owner: %w", locks.ErrUnsupported)
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
		return nil, fmt.Errorf("%w: %w; the servers' session_ttl_min is the minimum; set --ttl", locks.ErrUnsupported, err)
	case err != nil:
		return held, err
	case held.lost == nil && ctx.Err() != nil:
		return nil, ctx.Err() // the caller gave up, which does not mean that the lock is taken
	case held.lost == nil:
		return nil, locks.ErrTaken
	}
	held.token, err = l.lockIndex(r.Keys[0], owner)
	return held, err
}

// lockIndex returns how often a key was granted. The library does not return it. Consul's guide to sessions recommends
// that the holder reads it and passes it to the guarded resource.
func (l *consulLocker) lockIndex(key, owner string) (uint64, error) {
	pair, _, err := l.client.KV().Get(key, &api.QueryOptions{RequireConsistent: true})
	switch {
	case err != nil:
		return 0, fmt.Errorf("the lock was granted, but its number cannot be read: %w", err)
	case pair == nil || pair.Session == "" || string(pair.Value) != owner:
		return 0, errors.New("the lock was granted, but lost before its number was read")
	}
	return pair.LockIndex, nil
}

// consulLease is one grant of a key to a session.
type consulLease struct {
	lock  *api.Lock
	lost  <-chan struct{} // nil: the outcome of the acquire is unknown
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

// Lease returns the ttl of the session. Servers end a session without renewals after up to twice the ttl.
func (l *consulLease) Lease() time.Duration  { return l.ttl }
func (l *consulLease) Lost() <-chan struct{} { return l.lost }

// Token returns how often the key was granted.
func (l *consulLease) Token() uint64 { return l.token }

// Release calls Unlock and returns its result, which does not tell whether the lock was held.
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
		return fmt.Errorf("it is unknown whether it was held: %w", err)
	}
	return err
}
