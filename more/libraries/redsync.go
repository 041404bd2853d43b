package libraries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigoclient "github.com/gomodule/redigo/redis"

	"lockbench/locks"
)

// pool makes a redsync pool of one master and a function that closes it.
type pool func(s locks.Store, addr string, careful bool) (redis.Pool, func() error)

func goRedisPool(s locks.Store, addr string, careful bool) (redis.Pool, func() error) {
	c := goRedisAt(s, addr, clientOptions{careful: careful})
	return goredis.NewPool(c), c.Close
}

func redigoPool(s locks.Store, addr string, careful bool) (redis.Pool, func() error) {
	p := &redigoclient.Pool{MaxIdle: 4, DialContext: func(ctx context.Context) (redigoclient.Conn, error) {
		o := []redigoclient.DialOption{}
		if s.Dial != nil {
			o = append(o, redigoclient.DialContextFunc(s.Dial))
		}
		if careful {
			o = append(o, redigoclient.DialReadTimeout(time.Second), redigoclient.DialWriteTimeout(time.Second), redigoclient.DialConnectTimeout(time.Second))
		}
		return redigoclient.DialContext(ctx, "tcp", addr, o...)
	}}
	return redigo.NewPool(p), p.Close
}

// openRedsync opens a Mutex of redsync with one pool for each master.
func openRedsync(makePool pool) func(Options) (locks.Opener, error) {
	return func(o Options) (locks.Opener, error) {
		tries := o.number("tries", 32)
		drift := o.share("drift", 0.01)
		nodeTimeout := o.share("node-timeout", 0.05)
		failFast := o.on("fail-fast", false)
		careful := o.on("careful", false)
		if err := o.err(); err != nil {
			return nil, err
		}
		options := []redsync.Option{redsync.WithDriftFactor(drift), redsync.WithTimeoutFactor(nodeTimeout), redsync.WithFailFast(failFast)}
		return func(_ context.Context, c locks.Client) (locks.Locker, error) {
			l := &redsyncLocker{options: options, tries: tries, definite: !failFast}
			var pools []redis.Pool
			for _, n := range c.Store.Nodes() {
				p, closePool := makePool(c.Store, n.Addr, careful)
				pools, l.closers = append(pools, p), append(l.closers, closePool)
			}
			if len(pools) == 0 {
				return nil, locks.ErrUnsupported
			}
			l.redsync = redsync.New(pools...)
			return l, nil
		}, nil
	}
}

type redsyncLocker struct {
	redsync *redsync.Redsync
	options []redsync.Option
	tries   int
	// definite means that every master answered a refusal; with fail-fast redsync stops as soon as the outcome is certain.
	definite bool
	closers  []func() error
}

func (l *redsyncLocker) Close() error {
	var all []error
	for _, c := range l.closers {
		all = append(all, c())
	}
	return errors.Join(all...)
}

func (l *redsyncLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" || r.TTL == 0 {
		return nil, fmt.Errorf("redsync: requests must have one key, exclusive mode and a ttl: %w", locks.ErrUnsupported)
	}
	tries := 1
	if r.Wait > 0 {
		tries = l.tries
		// adds redsync*: a context that ends with the wait, and one try without a wait
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Wait)
		defer cancel()
	}
	m := l.redsync.NewMutex(r.Keys[0], append([]redsync.Option{redsync.WithExpiry(r.TTL), redsync.WithTries(tries)}, l.options...)...)
	err := m.LockContext(ctx)
	held := &redsyncLease{m, r.TTL}
	if err == nil {
		return held, nil
	}
	// A refusal is definite only if every master answered without an error.
	var taken *redsync.ErrTaken
	var other *redsync.RedisError
	if l.definite && errors.As(err, &taken) && !errors.As(err, &other) {
		return nil, fmt.Errorf("%w: %w", locks.ErrTaken, err)
	}
	return held, err
}

type redsyncLease struct {
	mutex *redsync.Mutex
	ttl   time.Duration // of the mutex
}

var (
	_ locks.Bounded = (*redsyncLease)(nil)
	_ locks.Renewer = (*redsyncLease)(nil)
)

func (l *redsyncLease) Until() time.Time { return l.mutex.Until() }

// Renew extends by the expiry of the mutex. redsync supports no other length.
func (l *redsyncLease) Renew(ctx context.Context, ttl time.Duration) error {
	if ttl != l.ttl {
		return fmt.Errorf("redsync extends by the ttl of the lock, %v, not by %v: %w", l.ttl, ttl, locks.ErrUnsupported)
	}
	ok, err := l.mutex.ExtendContext(ctx)
	if ok {
		return nil
	}
	return redsyncRefusal(err)
}

func (l *redsyncLease) Release(ctx context.Context) error {
	ok, err := l.mutex.UnlockContext(ctx)
	if ok {
		return nil
	}
	return redsyncRefusal(err)
}

// redsyncRefusal converts a refusal: it is definite unless a master did not answer.
func redsyncRefusal(err error) error {
	var other *redsync.RedisError
	var taken *redsync.ErrTaken
	switch {
	case errors.As(err, &other):
		return err
	case err == nil, errors.Is(err, redsync.ErrLockAlreadyExpired), errors.Is(err, redsync.ErrExtendFailed), errors.As(err, &taken):
		return locks.ErrNotHeld
	}
	return err
}
