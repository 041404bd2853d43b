package locks_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"lockbench/locks"
)

// mutexes is a lock in memory. It ignores the ttl of requests and does not wait.
type mutexes struct {
	mu   sync.Mutex
	held map[string]bool
}

// client is the handle of one client.
type client struct{ lock *mutexes }

// Acquire acquires the lock if it is free.
func (c client) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Wait > 0 {
		return nil, locks.ErrUnsupported
	}
	c.lock.mu.Lock()
	defer c.lock.mu.Unlock()
	if c.lock.held[r.Keys[0]] {
		return nil, locks.ErrTaken
	}
	c.lock.held[r.Keys[0]] = true
	return &lease{lock: c.lock, key: r.Keys[0]}, nil
}

// Close does nothing.
func (client) Close() error { return nil }

// lease is one hold.
type lease struct {
	lock     *mutexes
	key      string
	released bool
}

// Release ends the hold. Only the first call succeeds.
func (l *lease) Release(context.Context) error {
	l.lock.mu.Lock()
	defer l.lock.mu.Unlock()
	if l.released {
		return locks.ErrNotHeld
	}
	l.released = true
	delete(l.lock.held, l.key)
	return nil
}

// The smallest lock is an opener, a client's handle and a lease.
func Example() {
	lock := &mutexes{held: map[string]bool{}}
	var open locks.Opener = func(context.Context, locks.Client) (locks.Locker, error) { return client{lock}, nil }

	ctx := context.Background()
	first, err := open(ctx, locks.Client{ID: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := open(ctx, locks.Client{ID: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := first.Acquire(ctx, locks.Request{Keys: []string{"report"}})
	fmt.Println("first:", err)
	_, err = second.Acquire(ctx, locks.Request{Keys: []string{"report"}})
	fmt.Println("second:", err, errors.Is(err, locks.ErrTaken))
	fmt.Println("release:", held.Release(ctx))
	fmt.Println("release again:", held.Release(ctx))
	// Output:
	// first: <nil>
	// second: taken true
	// release: <nil>
	// release again: not held
}
