package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/locks"
	"lockbench/locks/locktest"
)

// queues are locks that can only wait. A client that gives up stays in the queue and releases a later grant.
type queues struct {
	mu     sync.Mutex
	places map[string]chan struct{}
	room   int // in each
}

type waiting struct {
	place  chan struct{}
	served chan struct{}
	once   sync.Once
}

func (q *queues) Close() error { return nil }

func (q *queues) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if r.Wait <= 0 || len(r.Keys) != 1 || r.Keys[0] == "" || r.TTL < 0 {
		return nil, fmt.Errorf("it can only wait for one lock: %w", locks.ErrUnsupported)
	}
	q.mu.Lock()
	if q.places[r.Keys[0]] == nil {
		q.places[r.Keys[0]] = make(chan struct{}, q.room)
	}
	w := &waiting{place: q.places[r.Keys[0]], served: make(chan struct{})}
	q.mu.Unlock()
	go func() {
		w.place <- struct{}{}
		close(w.served)
	}()
	timer := time.NewTimer(r.Wait)
	defer timer.Stop()
	select {
	case <-w.served:
		return w, nil
	case <-timer.C:
		return w, errors.New("it still waits")
	case <-ctx.Done():
		return w, ctx.Err()
	}
}

func (w *waiting) Release(context.Context) error {
	<-w.served
	err := locks.ErrNotHeld
	w.once.Do(func() { <-w.place; err = nil })
	return err
}

// A lock without refusals keeps the rules that need none, and breaks some if it admits two clients.
func TestOnlyWaits(t *testing.T) {
	broken := func(room int) (broken []string) {
		q := &queues{places: map[string]chan struct{}{}, room: room}
		s := locktest.Subject{
			NoTTL: true, OnlyWaits: true, Card: locks.Card{Claims: locks.Claims{Waits: true}},
			Excused: map[string]string{"wait-cancelled": "a client that gives up stays in the queue", "closed": "it has no clients"},
			Open:    func(context.Context, int) (locks.Locker, error) { return q, nil },
		}
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Undecided != nil {
				t.Errorf("room for %d: %s is undecided: %v", room, r.Rule.Name, r.Undecided)
			}
			if r.Err != nil {
				broken = append(broken, r.Rule.Name)
			}
			if refusal := r.Rule.Name == "one-of-1000" || r.Rule.Name == "wait-kept"; refusal && r.NA == "" {
				t.Errorf("%s ran for a lock without refusals", r.Rule.Name)
			}
		}
		return broken
	}
	if got := broken(1); len(got) > 0 {
		t.Errorf("it breaks %q", got)
	}
	got := broken(2)
	for _, rule := range []string{"exclude", "release-twice", "in-turn"} {
		if !slices.Contains(got, rule) {
			t.Errorf("two clients were admitted at once, but %s is kept; broken: %q", rule, got)
		}
	}
}

// retrying is a lock with leases that waits in rounds. A wrong one multiplies the lease in each round that is refused.
type retrying struct {
	*silent
	factor time.Duration
}

func (l retrying) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	end := time.Now().Add(r.Wait)
	r.Wait = 0
	for {
		round := time.Now().Add(time.Second)
		for time.Now().Before(round) {
			lease, err := l.silent.Acquire(ctx, r)
			if !errors.Is(err, locks.ErrTaken) {
				return lease, err
			}
			if time.Now().After(end) {
				return unserved{}, errors.New("it still waits")
			}
			time.Sleep(time.Millisecond)
		}
		r.TTL *= l.factor
	}
}

// unserved is an attempt that its lock has forgotten.
type unserved struct{}

func (unserved) Release(context.Context) error { return locks.ErrNotHeld }

// A lease that is granted after a refused round must not be longer than the request.
func TestWaitLease(t *testing.T) {
	excused := map[string]string{}
	for _, r := range locktest.Rules() {
		if r.Name != "wait-lease" {
			excused[r.Name] = "not tested"
		}
	}
	for factor, broken := range map[time.Duration]bool{1: false, 1000: true} {
		synctest.Test(t, func(t *testing.T) {
			l := retrying{&silent{holders: map[string]*silentLease{}}, factor}
			for _, r := range locktest.Run(t.Context(), locktest.Subject{
				OnlyWaits: true,
				Card:      locks.Card{Claims: locks.Claims{Bounded: true, Waits: true}},
				Excused:   excused,
				Open:      func(context.Context, int) (locks.Locker, error) { return l, nil },
			}) {
				if r.Rule.Name == "wait-lease" && ((r.Err != nil) != broken || r.Undecided != nil || r.NA != "") {
					t.Errorf("factor %d: broken %v, undecided %v, left out because %q", factor, r.Err, r.Undecided, r.NA)
				}
			}
		})
	}
}
