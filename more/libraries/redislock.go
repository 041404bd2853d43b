package libraries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"lockbench/locks"
)

// openRedislock opens a Lock of bsm/redislock.
func openRedislock(o Options) (locks.Opener, error) {
	client := clientOptions{careful: o.on("careful", false), reload: o.duration("reload", 0)}
	backoff := o.duration("backoff", 100*time.Millisecond)
	if err := o.err(); err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		store, err := goRedis(c.Store, client)
		if err != nil {
			return nil, err
		}
		return &redislockLocker{redislock.New(store), store, backoff}, nil
	}, nil
}

type redislockLocker struct {
	locks   *redislock.Client
	redis   redis.UniversalClient
	backoff time.Duration
}

func (l *redislockLocker) Close() error { return l.redis.Close() }

func (l *redislockLocker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if r.Mode != locks.Exclusive || r.Owner != "" || r.TTL == 0 {
		return nil, fmt.Errorf("redislock: requests must have exclusive mode and a ttl: %w", locks.ErrUnsupported)
	}
	o := &redislock.Options{}
	if r.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Wait)
		defer cancel()
		// adds redislock: LinearBackoff and a context that ends with the wait, because Obtain tries once
		o.RetryStrategy = redislock.LinearBackoff(l.backoff)
	}
	lock, err := l.locks.ObtainMulti(ctx, r.Keys, r.TTL, o)
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return nil, locks.ErrTaken
	case err != nil: // it gives no lock with an error, so there is nothing to release
		return nil, err
	}
	return redislockLease{lock}, nil
}

// redislockLease reports no end: the library has only TTL, which asks the server.
type redislockLease struct{ lock *redislock.Lock }

var _ locks.Renewer = redislockLease{}

func (l redislockLease) Renew(ctx context.Context, ttl time.Duration) error {
	err := l.lock.Refresh(ctx, ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return locks.ErrNotHeld
	}
	return err
}

func (l redislockLease) Release(ctx context.Context) error {
	err := l.lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return locks.ErrNotHeld
	}
	return err
}
