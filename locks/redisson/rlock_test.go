package redisson_test

import (
	"errors"
	"testing"
	"time"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

func TestReentryCounts(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	b, _ := open(t, redisson.New(hasty), s, 2)
	outer := take(t, a, request("x", time.Minute, 0))
	inner := take(t, a, request("x", time.Minute, 0))
	refuse(t, a, request("y", time.Minute, 0)) // another thread of the same client
	refuse(t, b, request("x", time.Minute, 0)) // the same name in another client
	give(t, inner)
	refuse(t, b, request("x", time.Minute, 0))
	give(t, outer)
	give(t, take(t, b, request("x", time.Minute, 0)))
	if err := outer.Release(t.Context()); err != locks.ErrNotHeld {
		t.Errorf("second release: got %v, want not held", err)
	}
	redistest.Await(t, "no key is left", func() bool { return len(left(t, s)) == 0 })
}

func TestWaiterIsWoken(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	o, parking := reached(redisson.Parking)
	b, _ := open(t, redisson.New(o), s, 2)
	held := take(t, a, request("", time.Hour, 0))
	waiter := ask(t.Context(), b, request("", time.Minute, time.Hour))
	await(t, "the waiter parks", parking)
	give(t, held)
	won := got(t, waiter)
	if won.err != nil {
		t.Fatalf("woken waiter: %v", won.err)
	}
	give(t, won.lease)
}

func TestWaitEnds(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	b, _ := open(t, redisson.New(hasty), s, 2)
	take(t, a, request("", time.Hour, 0))
	began := time.Now()
	lease, err := b.Acquire(t.Context(), request("", time.Minute, 50*time.Millisecond))
	if err != locks.ErrTaken || lease != nil {
		t.Errorf("got %v, %v, want taken", lease, err)
	}
	if waited := time.Since(began); waited < 50*time.Millisecond {
		t.Errorf("gave up after %v, want 50ms", waited)
	}
}

func TestExpiryWakesByTime(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	b, _ := open(t, redisson.New(hasty), s, 2)
	late := take(t, a, request("", 100*time.Millisecond, 0))
	won := take(t, b, request("", time.Minute, time.Hour))
	if err := late.Release(t.Context()); err != locks.ErrNotHeld {
		t.Errorf("late release: got %v, want not held", err)
	}
	give(t, won)
	if err := late.(locks.Renewer).Renew(t.Context(), time.Second); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("late renewal: got %v, want not held", err)
	}
}
