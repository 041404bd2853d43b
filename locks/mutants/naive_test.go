package mutants

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var naive = map[string]func() locks.Opener{
	"setnx-expire": SetnxExpire,
	"set-del":      SetDel,
	"get-del":      func() locks.Opener { return GetDel(0) },
	"getset-time":  GetsetTime,
}

// connect opens a client over a wire of its own.
func connect(t *testing.T, opener locks.Opener, s *redistest.Server, id int) (locks.Locker, *redistest.Wire) {
	t.Helper()
	return redistest.OpenOver(t, opener, s.Store(), id)
}

func ask(ttl time.Duration) locks.Request {
	return locks.Request{Keys: []string{"a"}, TTL: ttl}
}

func definite(err error) bool {
	return errors.Is(err, locks.ErrTaken) || errors.Is(err, locks.ErrNotHeld) || errors.Is(err, locks.ErrUnsupported)
}

func acquire(t *testing.T, l locks.Locker, ttl time.Duration) locks.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), ask(ttl))
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return lease
}

// TestLeases checks the ends of leases. The suite of locktest shows, in locks/locktest, which of its rules each lock breaks.
func TestLeases(t *testing.T) {
	for name, opener := range naive {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			a, _ := connect(t, opener(), s, 1)
			for _, ttl := range []time.Duration{time.Minute, 90500 * time.Millisecond} {
				before := time.Now()
				lease := acquire(t, a, ttl)
				end := lease.(locks.Bounded).Until()
				if end.Before(before.Add(ttl)) || end.After(time.Now().Add(ttl)) {
					t.Errorf("the lease ends %v after the attempt began, want %v", end.Sub(before), ttl)
				}
				if kept := s.Client.PTTL(t.Context(), "a").Val(); name != "getset-time" && (kept > ttl || kept < ttl-20*time.Second) {
					t.Errorf("the server keeps the key for %v, want %v", kept, ttl)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("release: %v", err)
				}
			}
			for what, r := range map[string]locks.Request{
				"no ttl":              {Keys: []string{"a"}},
				"below a millisecond": {Keys: []string{"a"}, TTL: time.Microsecond},
				"shared":              {Keys: []string{"a"}, TTL: time.Second, Mode: locks.Shared},
			} {
				if _, err := a.Acquire(t.Context(), r); !errors.Is(err, locks.ErrUnsupported) {
					t.Errorf("%s: got %v, want unsupported", what, err)
				}
			}
			if n := s.Client.DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("%d keys left, want none", n)
			}
		})
	}
}

// Their first command with its reply lost: unknown, and sent once. Only the one with
// a token of its own has something to clean up with: the others would delete whatever
// lock is there.
func TestLostReply(t *testing.T) {
	for name, command := range map[string]string{"setnx-expire": "setnx", "set-del": "set", "get-del": "set", "getset-time": "setnx"} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			a, wire := connect(t, naive[name](), s, 1)
			wire.LoseReplies(command, 1)
			lease, err := a.Acquire(t.Context(), ask(time.Minute))
			if err == nil || definite(err) || (lease != nil) != (name == "get-del") {
				t.Fatalf("acquire: got %v, %v, want an unknown outcome, and a lease only where it has an owner", lease, err)
			}
			if got := s.Calls(t, command); got != 1 {
				t.Errorf("the server executed %s %d times, want once", command, got)
			}
			if lease == nil {
				return
			}
			wire.LoseReplies("del", 1)
			if err := lease.Release(t.Context()); err == nil || definite(err) {
				t.Errorf("release with its reply lost: got %v, want an unknown outcome", err)
			}
		})
	}
}

// The client dies between SETNX and EXPIRE, and the lock is locked for ever.
func TestSetnxExpireStaysForEver(t *testing.T) {
	s := redistest.Start(t)
	a, wire := connect(t, SetnxExpire(), s, 1)
	wire.Before("expire", func() error { return errors.New("the client is gone") })
	if _, err := a.Acquire(t.Context(), ask(time.Minute)); err == nil || definite(err) {
		t.Fatalf("acquire: got %v, want an unknown outcome", err)
	}
	if ttl := s.Client.PTTL(t.Context(), "a").Val(); ttl != -1 {
		t.Errorf("the key is kept for %v; the flaw is that it never expires (-1)", ttl)
	}
}

// A looks, and the key is its own; the lease runs out and B gets the lock; A
// deletes B's key.
func TestGetDelDeletesWhatChangedHands(t *testing.T) {
	s := redistest.Start(t)
	a, wire := connect(t, GetDel(0), s, 1)
	b, _ := connect(t, GetDel(0), s, 2)
	c, _ := connect(t, GetDel(0), s, 3)
	late := acquire(t, a, time.Minute)
	wire.Before("del", func() error {
		if err := s.Client.PExpire(t.Context(), "a", time.Millisecond).Err(); err != nil {
			return err
		}
		s.AwaitGone(t, "a") // the minute has passed
		if _, err := b.Acquire(t.Context(), ask(time.Minute)); err != nil {
			return fmt.Errorf("acquire by B: %w", err)
		}
		return nil
	})
	if err := late.Release(t.Context()); err != nil {
		t.Errorf("late release: got %v; the flaw is that it says ok", err)
	}
	acquire(t, c, time.Minute)
}

// B's clock is two minutes ahead, and the lease of a minute that A has just got is
// over to B.
func TestGetsetTimeBelievesTheClock(t *testing.T) {
	s := redistest.Start(t)
	a, _ := connect(t, GetsetTime(), s, 1)
	b, _ := connect(t, GetsetTime(), s, 2)
	held := acquire(t, a, time.Minute)
	b.(*token).now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	wrong := acquire(t, b, time.Minute)
	if end := wrong.(locks.Bounded).Until(); time.Until(end) > time.Minute {
		t.Errorf("B takes its lease of a minute for %v long: its wall clock says when others may take over, and not how long", time.Until(end))
	}
	if end := held.(locks.Bounded).Until(); end.Before(time.Now()) {
		t.Error("A's lease is over; the flaw is that both hold")
	}
}

// Clocks that agree: an ended lease is taken over, by one of two who try at once,
// and its former holder releases nothing.
func TestGetsetTimeTakesOver(t *testing.T) {
	s := redistest.Start(t)
	a, _ := connect(t, GetsetTime(), s, 1)
	b, wire := connect(t, GetsetTime(), s, 2)
	c, _ := connect(t, GetsetTime(), s, 3)
	later := time.Now().Add(2 * time.Minute)
	late := acquire(t, a, time.Minute)
	for _, l := range []locks.Locker{a, b, c} {
		l.(*token).now = func() time.Time { return later }
	}
	c.(*token).now = func() time.Time { return later.Add(time.Millisecond) }

	var byC error
	wire.Before("getset", func() error {
		_, byC = c.Acquire(t.Context(), ask(time.Minute))
		return nil
	})
	if _, err := b.Acquire(t.Context(), ask(time.Minute)); err != locks.ErrTaken {
		t.Errorf("B came second: got %v, want taken", err)
	}
	if byC != nil {
		t.Errorf("C came first: %v", byC)
	}
	if err := late.Release(t.Context()); err != locks.ErrNotHeld {
		t.Errorf("late release by the clock: got %v, want not held", err)
	}
	if s.Value(t, "a") == "" {
		t.Error("the late release deleted the key")
	}
}
