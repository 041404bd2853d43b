package locktest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/locktest"
)

// silent is a lock with leases whose release and renewal return nothing. A careless one also
// frees the lock of another client.
type silent struct {
	careless bool
	mu       sync.Mutex
	holders  map[string]*silentLease
}

type silentLease struct {
	of    *silent
	key   string
	until time.Time
}

func (s *silent) Close() error { return nil }

func (s *silent) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Keys[0] == "" || r.TTL <= 0 || r.Wait != 0 || r.Owner != "" || r.Mode != locks.Exclusive {
		return nil, locks.ErrUnsupported
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holders[r.Keys[0]]; h != nil && time.Now().Before(h.until) {
		return nil, locks.ErrTaken
	}
	l := &silentLease{of: s, key: r.Keys[0], until: time.Now().Add(r.TTL)}
	s.holders[l.key] = l
	return l, nil
}

func (l *silentLease) holds() bool { return l.of.holders[l.key] == l && time.Now().Before(l.until) }

func (l *silentLease) Until() time.Time {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	return l.until
}

func (l *silentLease) Renew(_ context.Context, ttl time.Duration) error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.holds() {
		l.until = time.Now().Add(ttl)
	}
	return locks.ErrUnconfirmed
}

func (l *silentLease) Release(context.Context) error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.holds() || l.of.careless {
		delete(l.of.holders, l.key)
	}
	return locks.ErrUnconfirmed
}

// A library that returns nothing breaks no rule by that, but it does by freeing the lock of the next client.
func TestUnconfirmed(t *testing.T) {
	excused := map[string]string{}
	for _, r := range locktest.Rules() {
		if !slices.Contains([]string{"grant", "exclude", "release-twice", "release-after-expiry", "stranger", "renew"}, r.Name) {
			excused[r.Name] = "it releases nothing that is not held"
		}
	}
	for careless, want := range map[bool]map[string]bool{
		false: {},
		true:  {"release-twice": true, "stranger": true},
	} {
		s := &silent{careless: careless, holders: map[string]*silentLease{}}
		for _, r := range locktest.Run(t.Context(), locktest.Subject{
			Card:    locks.Card{Claims: locks.Claims{Bounded: true}},
			Excused: excused,
			Open:    func(context.Context, int) (locks.Locker, error) { return s, nil },
		}) {
			switch {
			case r.Undecided != nil:
				t.Errorf("careless %t: %s is undecided: %v", careless, r.Rule.Name, r.Undecided)
			case (r.Err != nil) != want[r.Rule.Name]:
				t.Errorf("careless %t: %s: broken %v", careless, r.Rule.Name, r.Err)
			case want[r.Rule.Name] && r.NA != "":
				t.Errorf("careless %t: %s did not run: %s", careless, r.Rule.Name, r.NA)
			}
		}
	}
}

// withoutEnd is a lock whose leases report no end.
type withoutEnd struct{ *silent }

type leaseWithoutEnd struct{ locks.Lease }

func (e withoutEnd) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	lease, err := e.silent.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return leaseWithoutEnd{lease}, nil
}

// A library that does not report when a lease ends breaks no rule by that.
func TestBoundedWithoutEnd(t *testing.T) {
	excused := map[string]string{}
	for _, r := range locktest.Rules() {
		if r.Name != "bounded" {
			excused[r.Name] = "not tested"
		}
	}
	s := withoutEnd{&silent{holders: map[string]*silentLease{}}}
	for _, r := range locktest.Run(t.Context(), locktest.Subject{
		Card:    locks.Card{Claims: locks.Claims{Bounded: true}},
		Excused: excused,
		Open:    func(context.Context, int) (locks.Locker, error) { return s, nil },
	}) {
		if r.Rule.Name == "bounded" && (r.Err != nil || r.NA != "the library does not report when a lease ends") {
			t.Errorf("broken %v, left out because %q", r.Err, r.NA)
		}
	}
}
