package redisson_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/internal/redistest"
	"lockbench/locks/redisson"
	"lockbench/locks/setnx"
)

// sentBy counts the commands that clients sent, as MONITOR would show them: what a
// script calls is the server's own doing and is left out.
func sentBy(t testing.TB, s *redistest.Server) int {
	t.Helper()
	info, err := s.Client.Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		var n int
		if _, err := fmt.Sscanf(line, "total_commands_processed:%d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the server does not say how many commands it has processed")
	return 0
}

// An uncontended acquire and release is one script each, and at most one command
// more that nobody waits for.
func TestUncontendedCost(t *testing.T) {
	for name, test := range map[string]struct {
		opener locks.Opener
		r      locks.Request
	}{
		"redisson":        {redisson.New(hasty), request("", time.Minute, 0)},
		"redisson, dog":   {redisson.New(hasty), request("", 0, 0)},
		"redisson, wait":  {redisson.New(hasty), request("", time.Minute, time.Minute)},
		"redisson-fair":   {redisson.NewFair(hasty), request("", time.Minute, time.Minute)},
		"redisson-rw":     {redisson.NewReadWrite(hasty), request("", time.Minute, 0)},
		"redisson-rw, r":  {redisson.NewReadWrite(hasty), read(request("", time.Minute, 0))},
		"redisson-fenced": {redisson.NewFenced(hasty), request("", time.Minute, 0)},
		"redisson-spin":   {redisson.NewSpin(hasty), request("", time.Minute, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			l, _ := open(t, test.opener, s, 1)
			sweep := func() {
				t.Helper()
				redistest.Await(t, "latches are swept", func() bool { return !hasLatch(t, s) })
			}
			give(t, take(t, l, test.r)) // connects, loads the scripts
			sweep()
			const rounds = 20
			shas, dels := calls(t, s, "evalsha"), calls(t, s, "del")
			for range rounds {
				give(t, take(t, l, test.r))
			}
			sweep()
			if n := calls(t, s, "evalsha") - shas; n != 2*rounds {
				t.Errorf("%d scripts for %d rounds, want two each", n, rounds)
			}
			if n := calls(t, s, "eval"); n > 2 {
				t.Errorf("%d scripts by their text, want each once", n)
			}
			// Scripts delete too: the lock, and the key of a read hold.
			if n := calls(t, s, "del") - dels; n > 3*rounds {
				t.Errorf("%d DEL for %d rounds", n, rounds)
			}
		})
	}
}

func hasLatch(t testing.TB, s *redistest.Server) bool {
	for _, k := range left(t, s) {
		if strings.HasPrefix(k, "redisson_unlock_latch") {
			return true
		}
	}
	return false
}

// A waiter sends what the table of the algorithm says, and nothing while it sleeps.
func TestWaiterCost(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	o, parking := reached(redisson.Parking)
	b, _ := open(t, redisson.New(o), s, 2)
	give(t, take(t, b, request("", time.Minute, 0)))
	redistest.Await(t, "the latch is swept", func() bool { return !hasLatch(t, s) })
	held := take(t, a, request("", time.Hour, 0))
	before := map[string]int{}
	for _, c := range []string{"evalsha", "subscribe", "unsubscribe"} {
		before[c] = s.Calls(t, c)
	}
	waiter := ask(t.Context(), b, request("", time.Minute, time.Hour))
	await(t, "the waiter parks", parking)
	if n := s.Calls(t, "evalsha") - before["evalsha"]; n != 2 {
		t.Errorf("%d scripts before it sleeps, want two", n)
	}
	quiet := sentBy(t, s)
	for range 50 { // each of these is one command; the waiter adds none
		s.Client.Ping(t.Context())
	}
	if n := sentBy(t, s) - quiet; n != 51 {
		t.Errorf("%d commands besides ours while it sleeps", n-51)
	}
	give(t, held)
	won := got(t, waiter)
	if won.err != nil {
		t.Fatal(won.err)
	}
	redistest.Await(t, "it unsubscribes", func() bool { return s.Calls(t, "unsubscribe")-before["unsubscribe"] == 1 })
	if n := s.Calls(t, "subscribe") - before["subscribe"]; n != 1 {
		t.Errorf("%d subscriptions, want one", n)
	}
	if n := s.Calls(t, "evalsha") - before["evalsha"]; n != 4 {
		t.Errorf("%d scripts, want three of the waiter and the release", n)
	}
	// And the other way round.
	again := ask(t.Context(), a, request("", time.Minute, time.Hour))
	give(t, won.lease)
	other := got(t, again)
	if other.err != nil {
		t.Fatal(other.err)
	}
	give(t, other.lease)
}

// Many waiters of one client and lock share one subscription.
func TestWaitersShareASubscription(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.New(hasty), s, 1)
	o, parking := reached(redisson.Parking)
	b, _ := open(t, redisson.New(o), s, 2)
	held := take(t, a, request("", time.Hour, 0))
	var waiters []<-chan asked
	for range 5 {
		waiters = append(waiters, ask(t.Context(), b, request("", time.Hour, time.Hour)))
		await(t, "a waiter parks", parking)
	}
	if n := s.Calls(t, "subscribe"); n != 1 {
		t.Errorf("%d subscriptions for five waiters, want one", n)
	}
	give(t, held)
	var wg sync.WaitGroup
	for _, w := range waiters {
		wg.Go(func() {
			a := <-w
			if a.err != nil {
				t.Error(a.err)
				return
			}
			if err := a.lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// BenchmarkPace compares uncontended locks, each client on a name of its own, with
// the bare SET NX and its release script, in one run:
//
//	go test -run '^$' -bench Pace -benchtime 20000x ./locks/redisson/
func BenchmarkPace(b *testing.B) {
	for _, clients := range []int{10, 50} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := redistest.Start(b)
			var bare, ours time.Duration
			openers := []struct {
				opener locks.Opener
				took   *time.Duration
			}{{setnx.New(), &bare}, {redisson.New(redisson.Options{}), &ours}}
			var all [][]locks.Locker
			for _, o := range openers {
				var of []locks.Locker
				for i := range clients {
					l, _ := open(b, o.opener, s, i)
					of = append(of, l)
				}
				all = append(all, of)
			}
			// Alternating slices of the work, so that the machine's moods hit both.
			const slices = 10
			for range slices {
				for i, o := range openers {
					start := time.Now()
					pace(b, all[i], max(1, b.N/clients/slices))
					*o.took += time.Since(start)
				}
			}
			b.ReportMetric(bare.Seconds()/ours.Seconds(), "pace-ratio")
			b.ReportMetric(float64(b.N)/bare.Seconds(), "bare/s")
			b.ReportMetric(float64(b.N)/ours.Seconds(), "ours/s")
		})
	}
}

func pace(b *testing.B, all []locks.Locker, rounds int) {
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() {
			r := locks.Request{Keys: []string{fmt.Sprint("k", i)}, TTL: time.Minute}
			for range rounds {
				lease, err := l.Acquire(b.Context(), r)
				if err != nil {
					b.Error(err)
					return
				}
				if err := lease.Release(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
