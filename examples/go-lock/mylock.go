// Package mylock is a lock to start from: SET NX PX with a token on one Redis
// master, and a script that deletes the key only if the token is still there.
//
// It is written against go-redis alone, as a lock outside lockbench would be.
package mylock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"lockbench/locks"
)

// Open opens one client of the lock. It is a locks.Opener.
func Open(_ context.Context, c locks.Client) (locks.Locker, error) {
	// MaxRetries -1: never resend. A SET NX whose reply was lost and that is sent
	// once more says "taken", though this client holds.
	switch s := c.Store; s.Topology {
	case locks.Single, locks.Replicated:
		return &locker{c, redis.NewClient(&redis.Options{Addr: s.Nodes()[0].Addr, Dialer: s.Dial, MaxRetries: -1})}, nil
	case locks.Sentinel:
		var addrs []string
		for _, n := range s.Endpoints[locks.Sentinels] {
			addrs = append(addrs, n.Addr)
		}
		return &locker{c, redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: s.Params[locks.MasterName], SentinelAddrs: addrs, Dialer: s.Dial, MaxRetries: -1,
		})}, nil
	}
	return nil, fmt.Errorf("mylock on the topology %s: %w", c.Store.Topology, locks.ErrUnsupported)
}

var _ locks.Opener = Open

type locker struct {
	client locks.Client
	redis  *redis.Client
}

// Acquire tries once. Every error of the server is unknown: the key may have been
// set, so the lease comes along, and releasing it cleans up.
func (l *locker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" || r.Wait > 0 || r.TTL < time.Millisecond {
		return nil, fmt.Errorf("mylock: one key, alone, one try, a ttl: %w", locks.ErrUnsupported)
	}
	token := fmt.Sprintf("%d-%x", l.client.ID, l.client.Rand.Uint64())
	// The lease begins before the request is sent: from here on the server may count.
	held := &lease{redis: l.redis, key: r.Keys[0], token: token, until: time.Now().Add(r.TTL)}
	granted, err := l.redis.SetNX(ctx, held.key, token, r.TTL).Result()
	switch {
	case err != nil:
		return held, fmt.Errorf("acquire %q: %w", held.key, err)
	case !granted:
		return nil, locks.ErrTaken
	case !time.Now().Before(held.until):
		return held, fmt.Errorf("acquire %q: the answer came after the end of the lease", held.key)
	}
	return held, nil
}

// Close closes the connections; what is held stays held until it expires.
func (l *locker) Close() error { return l.redis.Close() }

// lease is one hold.
type lease struct {
	redis      *redis.Client
	key, token string
	until      time.Time
}

var _ locks.Bounded = (*lease)(nil)

// Until is the end of the lease as this client knows it.
func (l *lease) Until() time.Time { return l.until }

var release = redis.NewScript(`
	if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
	return redis.call("del", KEYS[1])`)

// Release deletes the key if it is still this lease's.
func (l *lease) Release(ctx context.Context) error {
	deleted, err := release.Run(ctx, l.redis, []string{l.key}, l.token).Int()
	switch {
	case err != nil:
		return fmt.Errorf("release %q: %w", l.key, err)
	case deleted == 0:
		return locks.ErrNotHeld
	}
	return nil
}
