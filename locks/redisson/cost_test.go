package redisson_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	service "lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

// sentBy counts the commands that clients sent. It does not count commands that scripts call.
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

// An uncontended acquire and release is one script each, and at most one more command in the background.
func TestUncontendedCost(t *testing.T) {
	for name, test := range map[string]struct {
		opener locks.Opener
		r      locks.Request
	}{
		"redisson-port":        {redisson.New(hasty), request("", time.Minute, 0)},
		"redisson-port, dog":   {redisson.New(hasty), request("", 0, 0)},
		"redisson-port, wait":  {redisson.New(hasty), request("", time.Minute, time.Minute)},
		"redisson-port-fair":   {redisson.NewFair(hasty), request("", time.Minute, time.Minute)},
		"redisson-port-rw":     {redisson.NewReadWrite(hasty), request("", time.Minute, 0)},
		"redisson-port-rw, r":  {redisson.NewReadWrite(hasty), read(request("", time.Minute, 0))},
		"redisson-port-fenced": {redisson.NewFenced(hasty), request("", time.Minute, 0)},
		"redisson-port-spin":   {redisson.NewSpin(hasty), request("", time.Minute, 0)},
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

// modes are all connection modes with one master at a time.
var modes = map[string]func(*testing.T) locks.Store{
	"single": func(t *testing.T) locks.Store { return redistest.Start(t).Store() },
	"replicated": func(t *testing.T) locks.Store {
		master := redistest.Start(t)
		redistest.Start(t).Follow(t, master)
		return service.Store(locks.Replicated, master.Node("redis-1"))
	},
	"sentinel": func(t *testing.T) locks.Store {
		sentinel := redistest.StartSentinel(t, "mymaster", redistest.Start(t))
		return service.SentinelStore("mymaster", sentinel.Node("sentinel-1"))
	},
	"cluster": func(t *testing.T) locks.Store { return redistest.StartCluster(t, 3).Store() },
}

// cost returns the commands that a client has sent since before, without those of its library for the map of the cluster and
// for connecting.
func cost(w *redistest.Wire, before map[string]int) map[string]int {
	sent := w.Sent()
	for name, n := range before {
		if sent[name] -= n; sent[name] == 0 {
			delete(sent, name)
		}
	}
	for _, library := range []string{"cluster", "hello", "client", "select", "auth", "sentinel", "ping", "readonly"} {
		delete(sent, library)
	}
	return sent
}

// In every connection mode, an acquire and its release are one script each, and at most one further command, a DEL of latches.
// A waiter sends nothing while it waits. The test counts on the wire, so it includes the commands that a library
// adds.
func TestCostInEveryMode(t *testing.T) {
	for mode, start := range modes {
		t.Run(mode, func(t *testing.T) {
			store := start(t)
			for name, of := range family {
				if ofSeveral(name) {
					continue // it has several locks and so several scripts
				}
				t.Run(name, func(t *testing.T) {
					asks := func(wait time.Duration) locks.Request {
						return locks.Request{Keys: []string{name}, TTL: time.Hour, Wait: wait}
					}
					o, parking := reached(redisson.Parking)
					a, wireA := redistest.OpenOver(t, of(o), store, 1)
					b, wireB := redistest.OpenOver(t, of(o), store, 2)
					for _, l := range []locks.Locker{a, b} {
						give(t, take(t, l, asks(0))) // connects, loads the scripts
					}
					swept := func(since map[string]int, n int) {
						t.Helper()
						redistest.Await(t, "latches are swept", func() bool { return cost(wireA, since)["del"] >= n })
					}
					swept(nil, 1)
					const rounds = 10
					before := wireA.Sent()
					for range rounds {
						give(t, take(t, a, asks(0)))
					}
					swept(before, 1)
					sent := cost(wireA, before)
					want := map[string]int{"evalsha": 2 * rounds}
					if name == "redisson-port-wait" && mode == "replicated" {
						want["wait"] = 2 * rounds
					}
					if n := sent["del"]; n > rounds {
						t.Errorf("%d DEL for %d rounds, want one each at most", n, rounds)
					}
					delete(sent, "del")
					if !maps.Equal(sent, want) {
						t.Errorf("%d rounds sent %v, want %v", rounds, sent, want)
					}

					if name == "redisson-port-spin" {
						return // it polls
					}
					held := take(t, a, asks(0))
					waiting := ask(t.Context(), b, asks(time.Hour))
					await(t, "the waiter parks", parking)
					before = wireB.Sent()
					// Another client waits for a while and is refused; the sleeper sends nothing.
					refuse(t, a, locks.Request{Keys: []string{name}, Owner: "another", TTL: time.Hour, Wait: 300 * time.Millisecond})
					if sent := cost(wireB, before); len(sent) > 0 {
						t.Errorf("a waiter sent %v while it slept", sent)
					}
					give(t, held)
					won := got(t, waiting)
					if won.err != nil {
						t.Fatal(won.err)
					}
					give(t, won.lease)
				})
			}
		})
	}
}

// A waiter sends the commands of the algorithm, and nothing while it sleeps.
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
	for range 50 { // each of these is one command, and the waiter sends none
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
	// The opposite order.
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

// A multi-lock costs for each lock one script to take it, one command to set its lease, as in Redisson, and one script to
// release it. A waiter sends nothing while it sleeps.
func TestCostOfSeveral(t *testing.T) {
	for name, of := range map[string]func(redisson.Options) locks.Opener{
		"redisson-port-multi": redisson.NewMulti, "redisson-port-redlock": redisson.NewRedLock,
	} {
		t.Run(name, func(t *testing.T) {
			const masters, rounds = 3, 10
			_, store := independent(t, masters)
			o, parking := reached(redisson.Parking)
			a, wireA := redistest.OpenOver(t, of(o), store, 1)
			b, wireB := redistest.OpenOver(t, of(o), store, 2)
			for _, l := range []locks.Locker{a, b} {
				give(t, take(t, l, request("", time.Hour, 0))) // connects, loads the scripts
			}
			redistest.Await(t, "latches are swept", func() bool { return cost(wireA, nil)["del"] >= masters })
			before := wireA.Sent()
			for range rounds {
				give(t, take(t, a, request("", time.Hour, 0)))
			}
			redistest.Await(t, "latches are swept", func() bool { return cost(wireA, before)["del"] >= masters })
			sent := cost(wireA, before)
			if n := sent["del"]; n > masters*rounds {
				t.Errorf("%d DEL for %d rounds on %d masters, want one each at most", n, rounds, masters)
			}
			delete(sent, "del")
			if want := map[string]int{"evalsha": 2 * masters * rounds, "pexpire": masters * rounds}; !maps.Equal(sent, want) {
				t.Errorf("%d rounds sent %v, want %v", rounds, sent, want)
			}

			held := take(t, a, request("", time.Hour, 0))
			waiting := ask(t.Context(), b, request("", time.Hour, time.Hour))
			await(t, "the waiter parks", parking)
			before = wireB.Sent()
			refuse(t, a, request("another", time.Hour, 300*time.Millisecond))
			if sent := cost(wireB, before); len(sent) > 0 {
				t.Errorf("a waiter sent %v while it slept", sent)
			}
			give(t, held)
			won := got(t, waiting)
			if won.err != nil {
				t.Fatal(won.err)
			}
			give(t, won.lease)
		})
	}
}
