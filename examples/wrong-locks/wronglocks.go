// Package wronglocks has three locks as they stand in many programs, each with one mistake,
// and its test shows that lockbench finds all three. They are written with an ordinary go-redis
// client and know of lockbench only the contract in package locks.
package wronglocks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
)

// Deletes gives the lock back by DEL, without asking whose it is by then.
func Deletes(_ context.Context, c locks.Client) (locks.Locker, error) {
	return &locker{client: c, redis: connect(c, -1), unasked: true}, nil
}

// CountsLate counts its lease from when it heard of it. The server counts from when it granted.
func CountsLate(_ context.Context, c locks.Client) (locks.Locker, error) {
	return &locker{client: c, redis: connect(c, -1), late: true}, nil
}

// Resends leaves go-redis as it is by default: what was not answered is sent again, and the
// second answer is taken for the first. Right is MaxRetries: -1.
func Resends(_ context.Context, c locks.Client) (locks.Locker, error) {
	return &locker{client: c, redis: connect(c, 3)}, nil
}

// connect is a client for one server, as anybody makes it.
func connect(c locks.Client, retries int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: c.Store.Nodes()[0].Addr, Dialer: c.Store.Dial, MaxRetries: retries})
}

var _, _, _ locks.Opener = Deletes, CountsLate, Resends

type locker struct {
	client        locks.Client
	redis         *redis.Client
	unasked, late bool
}

// Acquire tries once.
func (l *locker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" || r.Wait > 0 || r.TTL < time.Millisecond {
		return nil, fmt.Errorf("one key, alone, one try, a ttl: %w", locks.ErrUnsupported)
	}
	held := &lease{locker: l, key: r.Keys[0], token: fmt.Sprintf("%d-%x", l.client.ID, l.client.Rand.Uint64())}
	held.until = time.Now().Add(r.TTL)
	err := l.redis.SetArgs(ctx, held.key, held.token, redis.SetArgs{Mode: "NX", TTL: r.TTL}).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, locks.ErrTaken
	case err != nil:
		return held, fmt.Errorf("acquire %q: %w", held.key, err)
	}
	if l.late {
		held.until = time.Now().Add(r.TTL)
	}
	return held, nil
}

// Close closes the connections.
func (l *locker) Close() error { return l.redis.Close() }

// lease is one hold.
type lease struct {
	*locker
	key, token string
	until      time.Time
}

var _ locks.Bounded = (*lease)(nil)

// Until is the end of the lease as this client believes it.
func (l *lease) Until() time.Time { return l.until }

var release = redis.NewScript(`
	if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
	return redis.call("del", KEYS[1])`)

// Release gives the lock back.
func (l *lease) Release(ctx context.Context) error {
	var deleted int
	var err error
	if l.unasked {
		var n int64
		n, err = l.redis.Del(ctx, l.key).Result()
		deleted = int(n)
	} else {
		deleted, err = release.Run(ctx, l.redis, []string{l.key}, l.token).Int()
	}
	switch {
	case err != nil:
		return fmt.Errorf("release %q: %w", l.key, err)
	case deleted == 0:
		return locks.ErrNotHeld
	}
	return nil
}
