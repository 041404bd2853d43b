package mylock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
)

// accepted are the harms that a lock with a lease on one server cannot prevent: a stopped client that works after its
// lease, a server that loses its data, and clocks that jump.
var accepted = []string{"overstay", "kill: redis-1, data: lost", "clock"}

// TestEverySet tries the lock under every single fault at every step of two clients.
func TestEverySet(t *testing.T) {
	lockbench.Exhaust(t, lockbench.SetOptions{Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Accept: accepted})
}

// openHasty opens a client of a lock that is wrong: its release reads the token and deletes the key in two requests. If the
// lease ends between the two, it deletes the key of the next holder. Few runs with random faults show that.
func openHasty(ctx context.Context, c locks.Client) (locks.Locker, error) {
	l, err := mylock.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	server := redis.NewClient(&redis.Options{Addr: c.Store.Nodes()[0].Addr, Dialer: c.Store.Dial, MaxRetries: -1})
	return &hasty{l, c, server}, nil
}

type hasty struct {
	locks.Locker
	client locks.Client
	redis  *redis.Client
}

func (h *hasty) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	token := fmt.Sprintf("%d-%x", h.client.ID, h.client.Rand.Uint64())
	held := &hastyLease{h.redis, r.Keys[0], token, time.Now().Add(r.TTL)}
	granted, err := h.redis.SetNX(ctx, held.key, token, r.TTL).Result()
	switch {
	case err != nil:
		return held, err
	case !granted:
		return nil, locks.ErrTaken
	case !time.Now().Before(held.until):
		return held, fmt.Errorf("acquire %q: the answer came after the end of the lease", held.key)
	}
	return held, nil
}

func (h *hasty) Close() error {
	_ = h.redis.Close()
	return h.Locker.Close()
}

type hastyLease struct {
	redis      *redis.Client
	key, token string
	until      time.Time
}

func (l *hastyLease) Until() time.Time { return l.until }

func (l *hastyLease) Release(ctx context.Context) error {
	token, err := l.redis.Get(ctx, l.key).Result()
	switch {
	case errors.Is(err, redis.Nil) || err == nil && token != l.token:
		return locks.ErrNotHeld
	case err != nil:
		return err
	}
	return l.redis.Del(ctx, l.key).Err()
}

// TestHastyReleaseIsShown expects that a single fault shows the mistake.
func TestHastyReleaseIsShown(t *testing.T) {
	seen := recorder{T: t}
	lockbench.Exhaust(&seen, lockbench.SetOptions{
		Name: "hasty", Lock: openHasty, Claims: locks.Claims{Bounded: true}, Accept: accepted,
	})
	if !strings.Contains(seen.failure, "double-grant by 1 fault") {
		t.Errorf("no single fault shows the wrong release: %s", seen.failure)
	}
	t.Log(seen.failure)
}

// recorder keeps the failure of a test that is expected to fail.
type recorder struct {
	*testing.T
	failure string
}

func (r *recorder) Errorf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }
