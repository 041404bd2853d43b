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

// etcdSettings are what its users set.
type etcdSettings struct {
	session   time.Duration
	orphan    bool
	limit     time.Duration
	dial      time.Duration
	keepalive time.Duration
}

// openEtcdMutex is a Mutex of etcd's package concurrency, each on a session of its own: two
// of one session have the same key, and both would be granted.
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
		return nil, fmt.Errorf("etcd-mutex: one key, alone, for nobody in particular: %w", locks.ErrUnsupported)
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = l.settings.session
	}
	// Sessions are counted in whole seconds.
	ttl = (ttl + time.Second - 1).Truncate(time.Second)
	session, err := l.session(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err) // nothing was asked of the lock
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

// session is NewSession with a limit: that has one for the whole session alone.
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
	token    uint64 // 0: nobody knows whether it was granted
	settings etcdSettings
}

var (
	_ locks.Renewed = (*etcdLease)(nil)
	_ locks.Watched = (*etcdLease)(nil)
	_ locks.Fenced  = (*etcdLease)(nil)
)

func (l *etcdLease) Lease() time.Duration  { return l.ttl }
func (l *etcdLease) Lost() <-chan struct{} { return l.session.Done() }

// Token is the revision of the store at the grant. The one before must have been deleted, so
// it has grown since that.
func (l *etcdLease) Token() uint64 { return l.token }

func (l *etcdLease) tryLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	err := l.mutex.TryLock(ctx)
	if errors.Is(err, concurrency.ErrLocked) { // its own key was deleted, and that was answered
		return fmt.Errorf("%w: %w", locks.ErrTaken, err)
	}
	return err
}

// released is the key of a Mutex that has none in the store.
const released = "\x00"

func (l *etcdLease) lock(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := l.mutex.Lock(ctx)
	// Lock takes its key out of the queue again, and what came of that its key tells. A session
	// that has expired has none there.
	if err != nil && l.mutex.Key() == released || errors.Is(err, concurrency.ErrSessionExpired) {
		return fmt.Errorf("%w: %w", locks.ErrTaken, err)
	}
	return err
}

// Release is Unlock, and the end of the session. Unlock deletes the key and does not tell
// whether it was there, so what it does is done here.
func (l *etcdLease) Release(ctx context.Context) error {
	key := l.mutex.Key()
	if key == released || key == "" {
		l.end(ctx)
		return locks.ErrNotHeld
	}
	limited, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	answer, err := l.session.Client().Delete(limited, key)
	if err != nil {
		// The session goes on, and with it the key if it is there, unless somebody ends it.
		if l.settings.orphan {
			l.session.Orphan()
		}
		return err
	}
	l.end(ctx)
	switch {
	case l.token == 0:
		// Who waits has a key too: that it was there does not say that it was held.
		return errors.New("what there was is deleted; whether it was held nobody knows")
	case answer.Deleted == 0:
		return locks.ErrNotHeld
	}
	return nil
}

// end is the session's Close with a limit of its own.
func (l *etcdLease) end(ctx context.Context) {
	l.session.Orphan()
	ctx, cancel := context.WithTimeout(ctx, l.settings.limit)
	defer cancel()
	// A lease that could not be revoked ends by itself.
	_, _ = l.session.Client().Revoke(ctx, l.session.Lease())
}
