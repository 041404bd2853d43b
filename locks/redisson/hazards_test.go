package redisson_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

// Each test shows the hazard with the id of docs/redisson.md, and a lock without the hazard if there is one. The hazards belong
// to the algorithm and not to the port.

// one renewal fails, the link is restored, and the lock is lost nevertheless.
func TestR9WatchdogEndsAtOneFailure(t *testing.T) {
	for _, test := range []struct {
		name    string
		chained bool
		dies    bool
	}{{"chained", true, true}, {"today", false, false}} {
		t.Run(test.name, func(t *testing.T) {
			s := redistest.Start(t)
			o := with(func(o *redisson.Options) { o.Chained, o.Watchdog = test.chained, 1500*time.Millisecond })
			a, wire := open(t, redisson.New(o), s, 1)
			b, _ := open(t, redisson.New(o), s, 2)
			failed := make(chan struct{})
			held := take(t, a, request("", 0, 0))
			once := func() error { close(failed); return errors.New("one renewal fails") }
			wire.Before("evalsha", once)
			await(t, "one renewal has failed", failed)
			if test.dies {
				// The link is restored, and the lock still ends while its holder works.
				won := take(t, b, request("", time.Minute, time.Minute))
				if err := held.Release(t.Context()); err != locks.ErrNotHeld {
					t.Errorf("release: got %v, want not held", err)
				}
				give(t, won)
				return
			}
			redistest.Await(t, "a later renewal moves the end on", func() bool { return pttl(t, s, "a") > 1400*time.Millisecond })
			refuse(t, b, request("", time.Minute, 1200*time.Millisecond))
			give(t, held)
		})
	}
}

// a chunk of renewals ends at the first key of a wrong type.
func TestR12PoisonKeyStopsItsChunk(t *testing.T) {
	s := redistest.Start(t)
	o := with(func(o *redisson.Options) { o.Watchdog = 3 * time.Second })
	a, _ := open(t, redisson.New(o), s, 1)
	for _, key := range []string{"before", "poison", "behind"} {
		take(t, a, locks.Request{Keys: []string{key}})
	}
	s.Client.Set(t.Context(), "poison", "no hash", 0)
	redistest.Await(t, "the victim expires under its live holder", func() bool {
		return s.Client.Exists(t.Context(), "behind").Val() == 0
	})
	if s.Client.Exists(t.Context(), "before").Val() == 0 {
		t.Error("the lock before the poison is gone too; it should be renewed")
	}
}

// a release whose reply was lost is sent again and releases a second hold.
func TestR14ReleaseThatIsSentAgain(t *testing.T) {
	for _, test := range []struct {
		name    string
		noLatch bool
	}{{"latch", false}, {"no latch", true}} {
		t.Run(test.name, func(t *testing.T) {
			s := redistest.Start(t)
			a, wire := open(t, redisson.New(with(func(o *redisson.Options) { o.NoLatch = test.noLatch })), s, 1)
			b, _ := open(t, redisson.New(hasty), s, 2)
			give(t, take(t, a, request("x", time.Minute, 0))) // the server knows the scripts
			outer := take(t, a, request("x", time.Minute, 0))
			inner := take(t, a, request("x", time.Minute, 0))
			wire.LoseReplies("evalsha", 1)
			if err := inner.Release(t.Context()); err != nil {
				t.Fatalf("release whose first reply is lost: %v", err)
			}
			lease, err := b.Acquire(t.Context(), request("", time.Minute, 0))
			if test.noLatch {
				if err != nil {
					t.Errorf("without a latch b gets %v, the hazard wants the lock that a still holds", err)
				}
				return
			}
			if err != locks.ErrTaken {
				t.Fatalf("b gets %v, %v, want taken: a holds once", lease, err)
			}
			give(t, outer)
		})
	}
}

// R-16: without a latch, the second run of a successful release finds no hold, and Redisson reports "not locked by current
// thread". The port reports an unknown outcome, because the request without an answer may have released the lock.
func TestR16ReleaseThatDidWellIsNotFound(t *testing.T) {
	s := redistest.Start(t)
	for _, noLatch := range []bool{true, false} {
		a, wire := open(t, redisson.New(with(func(o *redisson.Options) { o.NoLatch = noLatch })), s, 1)
		give(t, take(t, a, request("", time.Minute, 0))) // the server knows the scripts
		held := take(t, a, request("", time.Minute, 0))
		wire.LoseReplies("evalsha", 1)
		err := held.Release(t.Context())
		if errors.Is(err, locks.ErrNotHeld) || (err != nil) != noLatch {
			t.Errorf("without a latch: %v; got %v", noLatch, err)
		}
	}
}

// a read release sets the remaining time of readers for the writer.
func TestR19ReadReleaseShrinksTheWriter(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.NewReadWrite(hasty), s, 1)
	b, _ := open(t, redisson.NewReadWrite(hasty), s, 2)
	writer := take(t, a, request("x", 10*time.Second, 0))
	take(t, a, read(request("x", 500*time.Millisecond, 0)))
	second := take(t, a, read(request("x", 500*time.Millisecond, 0)))
	if left := pttl(t, s, "a"); left < 9*time.Second {
		t.Fatalf("the writer has %v left, want ten seconds", left)
	}
	give(t, second)
	if left := pttl(t, s, "a"); left > 500*time.Millisecond {
		t.Errorf("the writer has %v left, the hazard wants what the reader had", left)
	}
	won := take(t, b, request("", time.Minute, time.Minute))
	if until := writer.(locks.Bounded).Until(); !time.Now().Before(until) {
		t.Error("b came in when the writer's lease was over; the test is void")
	}
	give(t, won)
}

// a writer continues as a reader, and waiting readers are not woken.
func TestR20DowngradeTellsNobody(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.NewReadWrite(hasty), s, 1)
	write := take(t, a, request("x", time.Hour, 0))
	own := take(t, a, read(request("x", time.Hour, 0)))
	o, parking := reached(redisson.Parking)
	b, _ := open(t, redisson.NewReadWrite(o), s, 2)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waiting := ask(ctx, b, read(request("", time.Minute, time.Hour)))
	await(t, "the reader parks", parking)
	before := calls(t, s, "publish")
	give(t, write)
	if n := calls(t, s, "publish") - before; n != 0 {
		t.Errorf("the downgrade has told %d times, the hazard wants never", n)
	}
	// A new request is granted, because the lock is shared.
	c, _ := open(t, redisson.NewReadWrite(hasty), s, 3)
	give(t, take(t, c, read(request("", time.Minute, 0))))
	select {
	case a := <-waiting:
		t.Errorf("the parked reader was woken: %v", a.err)
	default:
	}
	// The end of the last hold sends a message.
	give(t, own)
	if won := got(t, waiting); won.err != nil {
		t.Errorf("the reader after the last release: %v", won.err)
	}
}

// re-entry with a shorter lease shortens the outer hold.
func TestR22ShorterReentryCutsTheOuterLease(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	b, _ := open(t, redisson.New(hasty), s, 2)
	outer := take(t, a, request("x", 0, 0)) // watchdog, 30 s
	take(t, a, request("x", 200*time.Millisecond, 0))
	if left := pttl(t, s, "a"); left > 200*time.Millisecond {
		t.Errorf("%v left, the hazard wants 200ms", left)
	}
	won := take(t, b, request("", time.Minute, time.Minute)) // long before the watchdog's next round
	if err := outer.Release(t.Context()); err != locks.ErrNotHeld {
		t.Errorf("release of the outer hold: got %v, want not held", err)
	}
	give(t, won)
}

// a waiter is stopped between its refusal and its sleep, and the holder releases. The message of a plain lock is kept for
// the waiter. The message of a writer reaches only clients that sleep.
func TestR23MessageBeforeTheSleep(t *testing.T) {
	for _, test := range []struct {
		name string
		of   func(redisson.Options) locks.Opener
		lost bool
	}{{"redisson-port", redisson.New, false}, {"redisson-port-rw", redisson.NewReadWrite, true}} {
		t.Run(test.name, func(t *testing.T) {
			s := redistest.Start(t)
			a, _ := open(t, test.of(hasty), s, 1)
			held := take(t, a, request("", time.Hour, 0))
			o, heard := reached(redisson.Heard)
			there, goOn := stopAt(&o, redisson.Parking)
			b, _ := open(t, test.of(o), s, 2)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			waiting := ask(ctx, b, request("", time.Minute, 2*time.Hour))
			await(t, "the waiter is about to sleep", there)
			give(t, held)
			await(t, "the message has come in", heard)
			close(goOn)
			if !test.lost {
				if won := got(t, waiting); won.err != nil {
					t.Errorf("got %v, want the lock", won.err)
				}
				return
			}
			select {
			case won := <-waiting:
				t.Errorf("got %v, the hazard is that it sleeps although the lock is free", won.err)
			case <-time.After(200 * time.Millisecond): // and for the remaining hour of the holder's lease
			}
			stop()
			got(t, waiting)
		})
	}
}

// a writer that enters again adds its lease to the remaining time.
func TestR25WriteReentryAddsUp(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.NewReadWrite(hasty), s, 1)
	for range 3 {
		take(t, a, request("x", 10*time.Second, 0))
	}
	if left := pttl(t, s, "a"); left < 29*time.Second {
		t.Errorf("%v left, the hazard wants three times ten seconds", left)
	}
	// RLock sets the time.
	b, _ := open(t, redisson.New(hasty), s, 2)
	for range 3 {
		take(t, b, locks.Request{Keys: []string{"b"}, Owner: "x", TTL: 10 * time.Second})
	}
	if left := pttl(t, s, "b"); left > 10*time.Second {
		t.Errorf("the plain lock has %v left, want ten seconds", left)
	}
}

// a release sets the remaining holds to its own lease.
func TestR38ReleaseLeavesItsOwnLease(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	take(t, a, request("x", 600*time.Second, 0))
	// Another lock object, as getLock gives for each call.
	inner := take(t, a, request("x", 600*time.Second, 0))
	give(t, inner)
	if left := pttl(t, s, "a"); left < 599*time.Second {
		t.Errorf("%v left, want 600s", left)
	}
	other := take(t, a, request("x", 0, 0))
	give(t, other)
	if left := pttl(t, s, "a"); left > 30*time.Second {
		t.Errorf("%v left, the hazard wants the watchdog's 30s", left)
	}
}

// D-2: a server whose clock has jumped past the lease answers like one without the key, so the test deletes the key. The
// simulation shifts clocks.
func TestD2KeyGoneBeforeItsTime(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(with(func(o *redisson.Options) { o.Watchdog = 300 * time.Millisecond })), s, 1)
	b, _ := open(t, redisson.New(hasty), s, 2)
	held := take(t, a, request("", 0, 0))
	s.Client.Del(t.Context(), "a")
	give(t, take(t, b, request("", time.Minute, 0)))
	await(t, "the holder gets the notice", held.(locks.Watched).Lost())
	if err := held.Release(t.Context()); err != locks.ErrNotHeld {
		t.Errorf("release: got %v, want not held", err)
	}
}

// TestChildLeaseOutlastsTheWait takes three locks one after the other, the third one slowly. Each lock has a lease of twice
// the wait, so the first lease still runs when the last lock is granted.
func TestChildLeaseOutlastsTheWait(t *testing.T) {
	s := redistest.Start(t)
	a, wire := open(t, redisson.NewMulti(hasty), s, 1)
	b, _ := open(t, redisson.New(hasty), s, 2)
	// The server knows the script, so that each child is one EVALSHA.
	give(t, take(t, b, locks.Request{Keys: []string{"k0"}, TTL: time.Minute}))
	slow := func() error {
		if left := pttl(t, s, "k1"); left <= time.Minute {
			t.Errorf("the first child has %v left, want twice the wait", left)
		}
		if _, err := b.Acquire(t.Context(), locks.Request{Keys: []string{"k1"}, TTL: time.Minute}); err != locks.ErrTaken {
			t.Errorf("b asks for the first child: %v, want taken", err)
		}
		return nil
	}
	wire.Before("evalsha", func() error { // the first child
		wire.Before("evalsha", func() error { // the second
			wire.Before("evalsha", slow)
			return nil
		})
		return nil
	})
	lease, err := a.Acquire(t.Context(), locks.Request{Keys: []string{"k1", "k2", "k3"}, TTL: 150 * time.Millisecond, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	_ = lease.Release(t.Context())
}

// the counter of a fenced lock is lost with the server's memory.
func TestR33CounterBeginsAgain(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.NewFenced(hasty), s, 1)
	var tokens []uint64
	for range 2 {
		lease := take(t, a, request("", time.Minute, 0))
		tokens = append(tokens, lease.(locks.Fenced).Token())
		give(t, lease)
	}
	s.Client.FlushAll(t.Context())
	lease := take(t, a, request("", time.Minute, 0))
	tokens = append(tokens, lease.(locks.Fenced).Token())
	if !slices.Equal(tokens, []uint64{1, 2, 1}) {
		t.Errorf("tokens %v, the hazard wants 1, 2 and after a flush 1 again", tokens)
	}
}
