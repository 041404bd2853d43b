package setnx_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both are the locks of this package, which differ in the token alone.
var both = map[string]func() locks.Opener{"set-nx": setnx.New, "set-nx-fenced": setnx.NewFenced}

func eachLock(t *testing.T, test func(t *testing.T, s *redistest.Server, opener locks.Opener)) {
	for name, opener := range both {
		t.Run(name, func(t *testing.T) { test(t, redistest.Start(t), opener()) })
	}
}

// open opens a client over a wire of its own.
func open(t *testing.T, opener locks.Opener, s *redistest.Server, id int) (locks.Locker, *redistest.Wire) {
	t.Helper()
	return redistest.OpenOver(t, opener, s.Store(), id)
}

func ask(ttl time.Duration) locks.Request {
	return locks.Request{Keys: []string{"a"}, TTL: ttl}
}

func definite(err error) bool {
	return errors.Is(err, locks.ErrTaken) || errors.Is(err, locks.ErrNotHeld) || errors.Is(err, locks.ErrUnsupported)
}

// The tests here are about what the suite of locktest does not see: it runs for both locks, in locks/locktest.

func TestLease(t *testing.T) {
	eachLock(t, func(t *testing.T, s *redistest.Server, opener locks.Opener) {
		a, _ := open(t, opener, s, 1)
		before := time.Now()
		lease, err := a.Acquire(t.Context(), ask(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if end := lease.(locks.Bounded).Until(); end.Before(before.Add(10*time.Second)) || end.After(time.Now().Add(10*time.Second)) {
			t.Errorf("the lease ends %v after the attempt began, want ten seconds", end.Sub(before))
		}
		value := s.Value(t, "a")
		if !strings.HasPrefix(value, "1-") || len(value) != len("1-")+32 {
			t.Errorf("the key holds %q, want client 1 and 128 bits in hex", value)
		}
		before = time.Now()
		if err := lease.(locks.Renewer).Renew(t.Context(), time.Minute); err != nil {
			t.Fatalf("renew: %v", err)
		}
		if end := lease.(locks.Bounded).Until(); end.Before(before.Add(time.Minute)) {
			t.Errorf("the lease ends %v after its renewal began, want a minute", end.Sub(before))
		}
		if err := lease.(locks.Renewer).Renew(t.Context(), 0); !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("renew for no time: got %v, want unsupported", err)
		}
		s.Client.Del(t.Context(), "a")
		if err := lease.(locks.Renewer).Renew(t.Context(), time.Minute); err != locks.ErrNotHeld {
			t.Errorf("renew what is gone: got %v, want not held", err)
		}
		if end := lease.(locks.Bounded).Until(); end.After(time.Now()) {
			t.Errorf("the lease is known to be lost and still ends in %v", time.Until(end))
		}
	})
}

// After a renewal without an answer the client must believe in the earlier end:
// the server may have moved it there.
func TestUnansweredRenewal(t *testing.T) {
	eachLock(t, func(t *testing.T, s *redistest.Server, opener locks.Opener) {
		a, wire := open(t, opener, s, 1)
		lease, err := a.Acquire(t.Context(), ask(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		wire.LoseReplies("evalsha", 1)
		wire.LoseReplies("eval", 1)
		if err := lease.(locks.Renewer).Renew(t.Context(), time.Minute); err == nil || definite(err) {
			t.Fatalf("renew: got %v, want an unknown outcome", err)
		}
		if end := lease.(locks.Bounded).Until(); end.After(time.Now().Add(time.Minute)) {
			t.Errorf("believes for another %v, want at most a minute", time.Until(end))
		}
		wire.LoseReplies("evalsha", 1)
		end := lease.(locks.Bounded).Until()
		if err := lease.(locks.Renewer).Renew(t.Context(), 2*time.Hour); err == nil || definite(err) {
			t.Fatalf("renew: got %v, want an unknown outcome", err)
		}
		if got := lease.(locks.Bounded).Until(); got != end {
			t.Errorf("a longer lease without a confirmation moved the end by %v", got.Sub(end))
		}
	})
}

// The grant whose reply is lost: unknown, sent once, and the lease cleans it up.
func TestLostReply(t *testing.T) {
	s := redistest.Start(t)
	a, wire := open(t, setnx.New(), s, 1)
	wire.LoseReplies("set", 1)
	lease, err := a.Acquire(t.Context(), ask(time.Minute))
	if err == nil || definite(err) {
		t.Fatalf("acquire: got %v, want an unknown outcome", err)
	}
	if got := s.Calls(t, "set"); got != 1 {
		t.Errorf("the server executed SET %d times, want once", got)
	}
	if s.Value(t, "a") == "" {
		t.Fatal("the server holds nothing; the test is void")
	}
	if lease == nil {
		t.Fatal("no lease to clean up with")
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("release what may have been taken: %v", err)
	}
	if got := s.Value(t, "a"); got != "" {
		t.Errorf("left after the release: %q", got)
	}
}

func TestLostReplyOfTheFencedLock(t *testing.T) {
	s := redistest.Start(t)
	a, wire := open(t, setnx.NewFenced(), s, 1)
	wire.LoseReplies("eval", 1)
	lease, err := a.Acquire(t.Context(), ask(time.Minute))
	if err == nil || definite(err) {
		t.Fatalf("acquire: got %v, want an unknown outcome", err)
	}
	if got := s.Calls(t, "eval"); got != 1 {
		t.Errorf("the server executed EVAL %d times, want once", got)
	}
	if _, ok := lease.(locks.Fenced); ok {
		t.Error("the lease of an unknown outcome has a token that no server returned")
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("release what may have been taken: %v", err)
	}
}

func TestServerErrorsAreUnknown(t *testing.T) {
	eachLock(t, func(t *testing.T, s *redistest.Server, opener locks.Opener) {
		if err := s.Client.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err(); err != nil {
			t.Fatal(err)
		}
		a, _ := open(t, opener, s, 1)
		lease, err := a.Acquire(t.Context(), ask(time.Minute))
		if err == nil || definite(err) || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("acquire on a replica: got %v, want an unknown outcome that quotes READONLY", err)
		}
		if lease == nil {
			t.Error("no lease to clean up with")
		}
	})
}

func TestTokensGrow(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, setnx.NewFenced(), s, 1)
	b, _ := open(t, setnx.NewFenced(), s, 2)
	for i, client := range []locks.Locker{a, b, a, b} {
		lease, err := client.Acquire(t.Context(), ask(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lease.(locks.Fenced).Token(), uint64(i+1); got != want {
			t.Errorf("grant %d has token %d, want %d: refused tries are not counted", i+1, got, want)
		}
		if _, err := a.Acquire(t.Context(), ask(time.Minute)); err != locks.ErrTaken {
			t.Errorf("acquire a held lock: got %v, want taken", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if ttl := s.Client.TTL(t.Context(), "{a}:token").Val(); ttl != -1 {
		t.Errorf("the counter expires in %v, want never", ttl)
	}
}

func TestCounterSharesTheSlot(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, setnx.NewFenced(), s, 1)
	for key, counter := range map[string]string{"b": "{b}:token", "x{b}y": "x{b}y:token", "{b}": "{b}:token"} {
		lease, err := a.Acquire(t.Context(), locks.Request{Keys: []string{key}, TTL: time.Minute})
		if err != nil {
			t.Fatalf("acquire %q: %v", key, err)
		}
		if s.Value(t, counter) == "" {
			t.Errorf("acquire %q: there is no counter %q", key, counter)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, key := range []string{"a}b", "{}a", "a{", "}{"} {
		if _, err := a.Acquire(t.Context(), locks.Request{Keys: []string{key}, TTL: time.Minute}); !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("acquire %q: got %v, want unsupported", key, err)
		}
	}
}

func TestUnsupported(t *testing.T) {
	eachLock(t, func(t *testing.T, s *redistest.Server, opener locks.Opener) {
		a, _ := open(t, opener, s, 1)
		for name, r := range map[string]locks.Request{
			"no ttl":              {Keys: []string{"a"}},
			"below a millisecond": {Keys: []string{"a"}, TTL: 999 * time.Microsecond},
			"negative ttl":        {Keys: []string{"a"}, TTL: -time.Second},
			"no names":            {TTL: time.Second},
			"two names":           {Keys: []string{"a", "b"}, TTL: time.Second},
			"empty name":          {Keys: []string{""}, TTL: time.Second},
			"shared":              {Keys: []string{"a"}, TTL: time.Second, Mode: locks.Shared},
			"wait":                {Keys: []string{"a"}, TTL: time.Second, Wait: time.Second},
		} {
			if _, err := a.Acquire(t.Context(), r); !errors.Is(err, locks.ErrUnsupported) {
				t.Errorf("%s: got %v, want unsupported", name, err)
			}
		}
		if n := s.Client.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("the refused requests left %d keys", n)
		}
	})
}

func TestClosedAndCancelled(t *testing.T) {
	eachLock(t, func(t *testing.T, s *redistest.Server, opener locks.Opener) {
		a, _ := open(t, opener, s, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Acquire(ctx, ask(time.Minute)); !errors.Is(err, context.Canceled) || definite(err) {
			t.Errorf("acquire with a cancelled context: got %v", err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Acquire(t.Context(), ask(time.Minute)); err == nil || definite(err) || !strings.Contains(err.Error(), "closed") {
			t.Errorf("acquire after Close: got %v, want an error that says closed", err)
		}
	})
}
