package redisson_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

func TestMain(m *testing.M) {
	// After the death of a server, a goroutine of the client library sleeps for up to a second.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// hasty is the zero Options with short pauses for tests.
var hasty = redisson.Options{RetryDelay: 2 * time.Millisecond}

// with returns hasty with a change.
func with(change func(*redisson.Options)) redisson.Options {
	o := hasty
	change(&o)
	return o
}

// open opens a client of a server over a separate wire.
func open(t testing.TB, opener locks.Opener, s *redistest.Server, id int) (locks.Locker, *redistest.Wire) {
	t.Helper()
	return redistest.OpenOver(t, opener, s.Store(), id)
}

// request returns a request for the lock "a".
func request(owner string, ttl, wait time.Duration) locks.Request {
	return locks.Request{Keys: []string{"a"}, Owner: owner, TTL: ttl, Wait: wait}
}

func read(r locks.Request) locks.Request {
	r.Mode = locks.Shared
	return r
}

func take(t testing.TB, l locks.Locker, r locks.Request) locks.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("acquire by %q: %v", r.Owner, err)
	}
	return lease
}

func refuse(t testing.TB, l locks.Locker, r locks.Request) {
	t.Helper()
	if lease, err := l.Acquire(t.Context(), r); !errors.Is(err, locks.ErrTaken) || lease != nil {
		t.Fatalf("acquire by %q: got %v, %v, want taken", r.Owner, lease, err)
	}
}

func give(t testing.TB, lease locks.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// asked is an acquire in another goroutine.
type asked struct {
	lease locks.Lease
	err   error
	at    time.Time
}

func ask(ctx context.Context, l locks.Locker, r locks.Request) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		lease, err := l.Acquire(ctx, r)
		done <- asked{lease, err, time.Now()}
	}()
	return done
}

// got waits for the end of an acquire.
func got(t testing.TB, done <-chan asked) asked {
	t.Helper()
	select {
	case a := <-done:
		return a
	case <-time.After(30 * time.Second):
		t.Fatal("an acquire did not end within 30 s")
		return asked{}
	}
}

// reached reports each time when a client reaches a point, and lets it continue.
func reached(p redisson.Point) (redisson.Options, <-chan struct{}) {
	at := make(chan struct{}, 1024)
	return with(func(o *redisson.Options) {
		o.Reached = func(_ context.Context, here redisson.Point) {
			if here == p {
				at <- struct{}{}
			}
		}
	}), at
}

// stopAt stops a client the first time that it reaches a point, until goOn is closed. It also calls the previous function.
func stopAt(o *redisson.Options, p redisson.Point) (there <-chan struct{}, goOn chan<- struct{}) {
	at, on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	next := o.Reached
	o.Reached = func(ctx context.Context, here redisson.Point) {
		if next != nil {
			next(ctx, here)
		}
		if here != p {
			return
		}
		once.Do(func() {
			close(at)
			select {
			case <-on:
			case <-ctx.Done():
			}
		})
	}
	return at, on
}

func await(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("waited 30 s in vain: %s", what)
	}
}

// pttl returns the remaining time to live of a key.
func pttl(t testing.TB, s *redistest.Server, key string) time.Duration {
	t.Helper()
	d, err := s.Client.PTTL(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// calls counts the commands that the server has executed, including those of scripts.
func calls(t testing.TB, s *redistest.Server, commands ...string) int {
	t.Helper()
	n := 0
	for _, c := range commands {
		n += s.Calls(t, c)
	}
	return n
}

// left returns the keys in the server, except latches, which are deleted later.
func left(t testing.TB, s *redistest.Server) []string {
	t.Helper()
	keys, err := s.Client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
