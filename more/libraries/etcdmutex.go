//go:build !wasip1

package libraries

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"lockbench/locks"
)

// etcdSettings are the options of users.
type etcdSettings struct {
	session   time.Duration
	orphan    bool
	limit     time.Duration
	dial      time.Duration
	keepalive time.Duration
}

// openEtcdMutex opens a Mutex of etcd's package concurrency, with a new session for each grant: two mutexes of one session
// have the same key, so both would be granted.
func openEtcdMutex(o Options) (locks.Opener, error) {
	s := etcdSettings{
		session: o.duration("session-ttl", time.Minute), orphan: o.on("orphan", false),
		limit: o.duration("limit", 3*time.Second), dial: o.duration("dial-timeout", 5*time.Second), keepalive: o.duration("keepalive", 0),
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		config := clientv3.Config{
			Endpoints: addresses(c.Store.Nodes()), DialTimeout: s.dial, Logger: zap.NewNop(),
			DialKeepAliveTime: s.keepalive, DialKeepAliveTimeout: s.keepalive,
		}
		if dial := c.Store.Dial; dial != nil {
			config.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				return dial(ctx, "tcp", addr)
			})}
		}
		client, err := clientv3.New(config)
		if err != nil {
			return nil, err
		}
		return &etcdLocker{client, s}, nil
	}, nil
}

type etcdLocker struct {
	client   *clientv3.Client
	settings etcdSettings
}

func (l *etcdLocker) Close() error { return l.client.Close() }

func (l *etcdLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" {
		return nil, fmt.Errorf("etcd-mutex: requests must have one key, exclusive mode and no owner: %w", locks.ErrUnsupported)
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = l.settings.session
	}
	// adds etcd-mutex: a session for each attempt, with the lease rounded up to whole seconds; and option limit for each call
	ttl = (ttl + time.Second - 1).Truncate(time.Second)
	session, err := l.session(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err) // no lock request was sent
	}
	held := &etcdLease{session: session, mutex: concurrency.NewMutex(session, r.Keys[0]), ttl: ttl, settings: l.settings}
	if r.Wait > 0 {
		err = held.lock(ctx, r.Wait)
	} else {
		err = held.tryLock(ctx)
	}
	if errors.Is(err, locks.ErrTaken) {
		held.end(ctx)
		return nil, err
	}
	if err == nil {
		held.token = uint64(held.mutex.Header().Revision)
	}
	return held, err
}

// session is NewSession with a time limit, because the context of NewSession covers the whole session.
func (l *etcdLocker) session(ctx context.Context, ttl time.Duration) (*concurrency.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	granted, err := l.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(l.client, concurrency.WithLease(granted.ID), concurrency.WithTTL(int(ttl/time.Second)))
	if s == nil && err == nil {
		err = errors.New("it is not kept alive")
	}
	return s, err
}

type etcdLease struct {
	session  *concurrency.Session
	mutex    *concurrency.Mutex
	ttl      time.Duration
	token    uint64 // 0: the outcome of the acquire is unknown
	settings etcdSettings
}

var (
	_ locks.Renewed = (*etcdLease)(nil)
	_ locks.Watched = (*etcdLease)(nil)
	_ locks.Fenced  = (*etcdLease)(nil)
)

func (l *etcdLease) Lease() time.Duration  { return l.ttl }
func (l *etcdLease) Lost() <-chan struct{} { return l.session.Done() }

// Token returns the revision of the store at the grant. It grows because the key of the previous holder was deleted
// before.
func (l *etcdLease) Token() uint64 { return l.token }

func (l *etcdLease) tryLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	err := l.mutex.TryLock(ctx)
	if errors.Is(err, concurrency.ErrLocked) { // its own key was deleted, with an answer
		return fmt.Errorf("%w: %w", locks.ErrTaken, err)
	}
	return err
}

// released is the key of a Mutex without a key in the store.
const released = "\x00"

func (l *etcdLease) lock(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := l.mutex.Lock(ctx)
	// Lock removes its key from the queue, and the mutex's key shows whether that succeeded. An expired session has no key
	// in the queue.
	if err != nil && l.mutex.Key() == released || errors.Is(err, concurrency.ErrSessionExpired) {
		return fmt.Errorf("%w: %w", locks.ErrTaken, err)
	}
	return err
}

// Release is Unlock, which does not report whether the lock was held, and ends the session.
func (l *etcdLease) Release(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	switch err := l.mutex.Unlock(limited); {
	case err == nil:
		l.end(ctx)
		return locks.ErrUnconfirmed
	case errors.Is(err, concurrency.ErrLockReleased) && (l.token != 0 || l.mutex.Key() == released):
		l.end(ctx)
		return locks.ErrNotHeld
	case errors.Is(err, concurrency.ErrLockReleased): // the mutex does not know that it was granted; its key ends with the session
		l.end(ctx)
		return errors.New("it is unknown whether the lock was held")
	default: // the session continues and keeps the key, if it exists
		if l.settings.orphan {
			l.session.Orphan()
		}
		return err
	}
}

// end closes the session, with its own time limit.
func (l *etcdLease) end(ctx context.Context) {
	l.session.Orphan()
	ctx, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	// A lease that could not be revoked expires.
	_, _ = l.session.Client().Revoke(ctx, l.session.Lease())
}
