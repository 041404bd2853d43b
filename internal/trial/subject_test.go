package trial

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/scenarios"
)

// A lock of somebody's own says itself what it can.
func TestOwnLockThatIsUnfitIsRefused(t *testing.T) {
	s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [redisson]\nworkload: {reentrant: {ttl: 8s}}\nfaults: none\n"), scenarios.AllCatalogs())
	if err != nil {
		t.Fatal(err)
	}
	own := &Opener{Card: locks.Card{Claims: locks.Claims{Bounded: true}}, Open: control.OpenNoLock}
	if _, err := NewSubject(s, s.Locks[0], own); err == nil || !strings.Contains(err.Error(), "re-entry") {
		t.Errorf("a lock that does not claim re-entry: %v", err)
	}
	own.Claims.Reentrant = true
	if _, err := NewSubject(s, s.Locks[0], own); err != nil {
		t.Error(err)
	}
}

// A lock whose holds end with a connection has no lease to give. It is asked for none, whatever
// the scenario gives to others; a ttl of its own cannot be had.
func TestSessionIsAskedForNoLease(t *testing.T) {
	for _, test := range []struct {
		lock   string
		claims locks.Claims
		ttl    time.Duration
		none   bool
	}{
		{"redisson", locks.Claims{Session: true}, 0, false},
		{"redisson/ttl=0s", locks.Claims{Session: true}, 0, false},
		{"redisson/ttl=2s", locks.Claims{Session: true}, 0, true},
		{"redisson/ttl=2s", locks.Claims{Session: true, Bounded: true}, 2 * time.Second, false},
		{"redisson", locks.Claims{Bounded: true}, 8 * time.Second, false},
	} {
		s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: ["+test.lock+"]\nworkload: {counter: {ttl: 8s}}\nfaults: none\n"), scenarios.AllCatalogs())
		if err != nil {
			t.Fatal(err)
		}
		own := &Opener{Card: locks.Card{Claims: test.claims}, Open: control.OpenNoLock}
		sub, err := NewSubject(s, s.Locks[0], own)
		if errors.Is(err, world.ErrUnsupportedHere) != test.none || err != nil && !test.none {
			t.Errorf("%s with %+v: %v, want it unsupported: %t", test.lock, test.claims, err, test.none)
		}
		if err == nil && sub.ttl != test.ttl {
			t.Errorf("%s with %+v is asked for %v, want %v", test.lock, test.claims, sub.ttl, test.ttl)
		}
	}
}
