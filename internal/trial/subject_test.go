package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/scenarios"
)

// The capabilities of a user's lock come from the lock.
func TestOwnLockThatIsUnfitIsRefused(t *testing.T) {
	s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [redisson-port]\nworkload: {reentrant: {ttl: 8s}}\nfaults: none\n"))
	if err != nil {
		t.Fatal(err)
	}
	own := &Opener{Card: locks.Card{Claims: locks.Claims{Bounded: true}}, Open: control.OpenNoLock}
	if _, err := NewSubject(NewInput(s, s.Locks[0], 1), own); !errors.As(err, new(world.Unsupported)) || !strings.Contains(err.Error(), "re-entry") {
		t.Errorf("a lock that does not claim re-entry: %v", err)
	}
	own.Claims.Reentrant = true
	if _, err := NewSubject(NewInput(s, s.Locks[0], 1), own); err != nil {
		t.Error(err)
	}
}

// A lock that ends with its connection has no lease. The scenario's ttl does not apply to it, and a ttl of its own is an
// error.
func TestSessionIsAskedForNoLease(t *testing.T) {
	for _, test := range []struct {
		lock   string
		claims locks.Claims
		ttl    time.Duration
		none   bool
	}{
		{"redisson-port", locks.Claims{Session: true}, 0, false},
		{"redisson-port/ttl=0s", locks.Claims{Session: true}, 0, false},
		{"redisson-port/ttl=2s", locks.Claims{Session: true}, 0, true},
		{"redisson-port/ttl=2s", locks.Claims{Session: true, Bounded: true}, 2 * time.Second, false},
		{"redisson-port", locks.Claims{Bounded: true}, 8 * time.Second, false},
	} {
		s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: ["+test.lock+"]\nworkload: {counter: {ttl: 8s}}\nfaults: none\n"))
		if err != nil {
			t.Fatal(err)
		}
		own := &Opener{Card: locks.Card{Claims: test.claims}, Open: control.OpenNoLock}
		sub, err := NewSubject(NewInput(s, s.Locks[0], 1), own)
		if errors.As(err, new(world.Unsupported)) != test.none || err != nil && !test.none {
			t.Errorf("%s with %+v: %v, want it unsupported: %t", test.lock, test.claims, err, test.none)
		}
		if err == nil && sub.ttl != test.ttl {
			t.Errorf("%s with %+v: ttl %v, want %v", test.lock, test.claims, sub.ttl, test.ttl)
		}
	}
}

// A user's lock names its service: a Go lock in its Opener, a guest in its hello.
func TestOwnLockIsForItsService(t *testing.T) {
	s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\n"))
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{"": "redis", "etcd": "etcd"} {
		sub, err := NewSubject(NewInput(s, scenarios.LockUse{Name: "mine"}, 1), &Opener{Service: said, Open: control.OpenNoLock})
		if err != nil || sub.Spec.Service.Name != want {
			t.Errorf("a Go lock for %q runs on %+v (%v), want %s", said, sub, err, want)
		}
		use := scenarios.LockUse{Name: "mine", Command: "./mine"}
		if sub, err = NewSubject(NewInput(s, use, 1), nil); err != nil {
			t.Fatal(err)
		}
		err = sub.Introduce(t.Context(), greeter{hello: guest.Hello{Family: locks.SingleStore, Service: said}})
		if err != nil || sub.Spec.Service.Name != want {
			t.Errorf("a guest for %q runs on %+v (%v), want %s", said, sub, err, want)
		}
		err = sub.Introduce(t.Context(), greeter{hello: guest.Hello{Family: locks.SingleStore, Service: "foo"}})
		if err == nil || !strings.Contains(err.Error(), `no lock service is called "foo"; known are `) {
			t.Errorf("a guest for an unknown service: %v", err)
		}
	}
}

// A guest of the catalog that tells another family than the catalog was built from other sources.
func TestGuestOfAnotherFamily(t *testing.T) {
	s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\n"))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := NewSubject(NewInput(s, scenarios.LockUse{Use: "redisson-redlock", Name: "redisson-redlock", Command: "./java"}, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = sub.Introduce(t.Context(), greeter{hello: guest.Hello{Family: locks.SingleStore}})
	if err == nil || !strings.Contains(err.Error(), "the guest of redisson-redlock says that it is a single-store lock") {
		t.Errorf("%v, want an error about the family", err)
	}
}

// greeter is a world that only answers with the hello of a guest.
type greeter struct {
	world.World
	hello guest.Hello
}

func (greeter) Describe() world.Description { return world.Description{Commands: true} }

func (greeter) Sketch(s world.Spec) world.Sketch { return world.NewSketch(s) }

func (g greeter) Meet(context.Context, world.ClientSpec) (world.Met, error) {
	return world.Met{Hello: g.hello}, nil
}

// A scenario that waits for renewals is n/a for a lock that a session keeps: no request renews it.
func TestSessionHasNoRenewalToWaitFor(t *testing.T) {
	const text = "lockbench: scenario/1\nlocks: [zk-recipe]\nworkload: {watchdog: {ttl: 0s}}\nfaults: %s\n"
	for faults, refused := range map[string]bool{
		"[{hold-request: holder, when: renewing, request: 1, for: 5s}]":  true,
		"[{hold-request: holder, when: releasing, request: 1, for: 5s}]": false,
		"none": false,
	} {
		s, err := scenarios.Read("x.yaml", fmt.Appendf(nil, text, faults))
		if err != nil {
			t.Fatal(err)
		}
		sub, err := NewSubject(NewInput(s, s.Locks[0], 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.Pointless(); errors.As(err, new(world.Unsupported)) != refused {
			t.Errorf("a lock of a session in a scenario with the faults %s: %v", faults, err)
		}
	}
}
