package redisson_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

// family are the locks in their form for one master.
var family = map[string]func(redisson.Options) locks.Opener{
	"redisson-port": redisson.New, "redisson-port-fair": redisson.NewFair, "redisson-port-rw": redisson.NewReadWrite,
	"redisson-port-fenced": redisson.NewFenced, "redisson-port-spin": redisson.NewSpin, "redisson-port-wait": redisson.NewWait,
	"redisson-port-multi": redisson.NewMulti, "redisson-port-redlock": redlockOfOne,
}

// redlockOfOne is RedLock with a single master. Its errors for wrong calls do not depend on the number of masters, and tests can
// check the remaining keys.
func redlockOfOne(o redisson.Options) locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		c.Store.Topology = locks.Independent
		return redisson.NewRedLock(o)(ctx, c)
	}
}

// ofSeveral reports whether a lock consists of locks on several masters.
func ofSeveral(name string) bool {
	return name == "redisson-port-multi" || name == "redisson-port-redlock"
}

func eachOf(t *testing.T, test func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener)) {
	for name, of := range family {
		t.Run(name, func(t *testing.T) { test(t, redistest.Start(t), of) })
	}
}

func TestRefusedRequests(t *testing.T) {
	eachOf(t, func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener) {
		a, _ := open(t, of(hasty), s, 1)
		for what, test := range map[string]struct {
			r    locks.Request
			says string
		}{
			"negative lease":      {request("", -time.Second, 0), "negative ttl"},
			"below a millisecond": {request("", time.Microsecond, 0), "1ms"},
			"negative wait":       {request("", time.Second, -time.Second), "negative wait"},
			"empty name":          {locks.Request{Keys: []string{""}, TTL: time.Second}, "empty"},
			"no name":             {locks.Request{TTL: time.Second}, "0 names"},
		} {
			lease, err := a.Acquire(t.Context(), test.r)
			if !errors.Is(err, locks.ErrUnsupported) || lease != nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: got %v, %v; want unsupported and %q", what, lease, err, test.says)
			}
		}
		if !strings.HasSuffix(t.Name(), "-rw") {
			if _, err := a.Acquire(t.Context(), read(request("", time.Second, 0))); !errors.Is(err, locks.ErrUnsupported) {
				t.Errorf("shared: got %v, want unsupported", err)
			}
		}
		if keys := left(t, s); len(keys) > 0 {
			t.Errorf("the refused requests left %q", keys)
		}
		held := take(t, a, request("", time.Minute, 0))
		for _, ttl := range []time.Duration{0, -time.Second, time.Microsecond} {
			if err := held.(locks.Renewer).Renew(t.Context(), ttl); !errors.Is(err, locks.ErrUnsupported) {
				t.Errorf("renew for %v: got %v, want unsupported", ttl, err)
			}
		}
		if left := pttl(t, s, "a"); left < 50*time.Second {
			t.Errorf("the refused renewals have changed the end: %v left", left)
		}
		give(t, held)
		if err := held.(locks.Renewer).Renew(t.Context(), time.Minute); !errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("renew what was released: got %v, want not held", err)
		}
	})
}

func TestReleaseTwice(t *testing.T) {
	eachOf(t, func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener) {
		a, _ := open(t, of(hasty), s, 1)
		outer := take(t, a, request("x", time.Minute, 0))
		inner := take(t, a, request("x", time.Minute, 0))
		give(t, inner)
		if err := inner.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("second release: got %v, want not held", err)
		}
		give(t, outer) // the second release has not ended this hold
	})
}

func TestClosedClient(t *testing.T) {
	eachOf(t, func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener) {
		a, _ := open(t, of(hasty), s, 1)
		held := take(t, a, request("", time.Minute, 0))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if _, err := a.Acquire(t.Context(), request("", time.Minute, 0)); err == nil || errors.Is(err, locks.ErrTaken) || !strings.Contains(err.Error(), "closed") {
			t.Errorf("acquire: got %v, want an error that says closed", err)
		}
		if err := held.Release(t.Context()); err == nil || errors.Is(err, locks.ErrNotHeld) || !strings.Contains(err.Error(), "closed") {
			t.Errorf("release: got %v, want an error that says closed", err)
		}
		if left := pttl(t, s, "a"); left <= 0 || left > time.Minute {
			t.Errorf("the lock has %v left, want what its lease has", left)
		}
	})
}

// Close ends the waits and removes the waiters from the queue.
func TestCloseWhileWaiting(t *testing.T) {
	eachOf(t, func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener) {
		a, _ := open(t, of(hasty), s, 1)
		held := take(t, a, request("", time.Minute, 0))
		o, parking := reached(redisson.Parking)
		b, _ := open(t, of(o), s, 2)
		waiter := ask(t.Context(), b, request("", time.Minute, time.Hour))
		await(t, "the waiter parks", parking)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if w := got(t, waiter); w.err == nil || !strings.Contains(w.err.Error(), "closed") {
			t.Errorf("got %v, want an error that says closed", w.err)
		}
		give(t, held)
		if n := s.Client.Exists(t.Context(), "redisson_lock_queue:{a}", "redisson_lock_timeout:{a}").Val(); n != 0 {
			t.Error("the closed waiter is still queued")
		}
		give(t, take(t, a, request("", time.Minute, 0)))
	})
}

// A call whose context has ended does nothing. The suite of locktest ends contexts in all phases of a call.
func TestCancelledBefore(t *testing.T) {
	eachOf(t, func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener) {
		a, _ := open(t, of(hasty), s, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if lease, err := a.Acquire(ctx, request("", time.Minute, 0)); !errors.Is(err, context.Canceled) || lease != nil {
			t.Errorf("acquire: got %v, %v, want canceled", lease, err)
		}
		held := take(t, a, request("", time.Minute, 0))
		if err := held.Release(ctx); err == nil || errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("release: got %v, want an unknown outcome", err)
		}
		give(t, held) // and again
	})
}

// A grant whose reply is lost is sent once and has an unknown outcome. Its lease can release the lock.
func TestLostGrant(t *testing.T) {
	eachOf(t, func(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener) {
		a, wire := open(t, of(hasty), s, 1)
		give(t, take(t, a, request("", time.Minute, 0))) // the server knows the scripts
		before := calls(t, s, "evalsha")
		wire.LoseReplies("evalsha", 1)
		lease, err := a.Acquire(t.Context(), request("", time.Minute, 0))
		if err == nil && lease != nil {
			t.Fatal("granted; the test is void")
		}
		if _, name, _ := strings.Cut(t.Name(), "/"); ofSeveral(name) {
			// The lock releases the unknown grant by itself, so that "taken" is true.
			if !errors.Is(err, locks.ErrTaken) || lease != nil {
				t.Errorf("got %v, %v, want taken: it was given back", lease, err)
			}
		} else {
			if err == nil || errors.Is(err, locks.ErrTaken) || errors.Is(err, locks.ErrNotHeld) || lease == nil {
				t.Fatalf("got %v, %v, want an unknown outcome and a lease", lease, err)
			}
			if n := calls(t, s, "evalsha") - before; n != 1 {
				t.Errorf("sent %d times, want once", n)
			}
			if s.Client.Exists(t.Context(), "a").Val() != 1 {
				t.Fatal("the server holds nothing; the test is void")
			}
			give(t, lease)
		}
		if s.Client.Exists(t.Context(), "a").Val() != 0 {
			t.Error("the lock is still held")
		}
	})
}

// A MultiLock took its first lock and got no answer about the second. It released the first, so the client did not hold.
func TestCleanupOfAMultiLockReleasesNothing(t *testing.T) {
	s := redistest.Start(t)
	a, wire := open(t, redisson.NewMulti(with(func(o *redisson.Options) { o.Retries = -1 })), s, 1)
	both := locks.Request{Keys: []string{"k1", "k2"}, TTL: time.Minute}
	give(t, take(t, a, both)) // the server knows the scripts
	lost := errors.New("lost on its way")
	says := []error{nil, nil, lost, nil, lost} // take k1, k2; give back k2, and then k1, k2
	var next func() error
	next = func() error {
		err := says[0]
		if says = says[1:]; len(says) == 4 {
			wire.LoseReplies("evalsha", 1) // to the second lock
		}
		if len(says) > 0 {
			wire.Before("evalsha", next)
		}
		return err
	}
	wire.Before("evalsha", next)
	lease, err := a.Acquire(t.Context(), both)
	if err == nil || errors.Is(err, locks.ErrTaken) || lease == nil {
		t.Fatalf("got %v, %v, want an unknown outcome and a lease to clean up with", lease, err)
	}
	if n := s.Client.Exists(t.Context(), "k1", "k2").Val(); n != 1 {
		t.Fatalf("%d of the two locks are held, want the one without an answer", n)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release: %v, want not held", err)
	}
	if n := s.Client.Exists(t.Context(), "k1", "k2").Val(); n != 0 {
		t.Errorf("%d of the two locks are held after the cleanup", n)
	}
}

// If only one of three masters answers a release of RedLock in time, its outcome is unknown. A repeated release asks the other
// masters, and does not report the released lock as lost.
func TestRepeatedReleaseOfARedLock(t *testing.T) {
	servers, store := independent(t, 3)
	a, wire := redistest.OpenOver(t, redisson.NewRedLock(with(func(o *redisson.Options) { o.Retries = -1 })), store, 1)
	give(t, take(t, a, request("", time.Minute, 0))) // the servers know the scripts
	held := take(t, a, request("", time.Minute, 0))
	unsent := errors.New("kept back")
	for i, says := range [][]error{
		{nil, unsent, unsent}, // the first is answered
		{nil, unsent},         // one of the two remaining ones
		{nil},                 // and the last, though a majority was enough before
	} {
		var next func() error
		next = func() error {
			err := says[0]
			if says = says[1:]; len(says) > 0 {
				wire.Before("evalsha", next)
			}
			return err
		}
		wire.Before("evalsha", next)
		err := held.Release(t.Context())
		switch {
		case i == 0 && (err == nil || errors.Is(err, locks.ErrNotHeld)):
			t.Fatalf("one of three released: %v, want an unknown outcome", err)
		case i == 1 && err != nil:
			t.Fatalf("two of three released: %v", err)
		case i == 2 && !errors.Is(err, locks.ErrNotHeld):
			t.Fatalf("after it went well: %v, want not held", err)
		}
	}
	if n := servers[2].Client.Exists(t.Context(), "a").Val(); n != 1 {
		t.Error("the third has released it without a request")
	}
}
