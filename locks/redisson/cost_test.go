package redisson_test

import (
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

func hasLatch(t testing.TB, s *redistest.Server) bool {
	for _, k := range left(t, s) {
		if strings.HasPrefix(k, "redisson_unlock_latch") {
			return true
		}
	}
	return false
}

// modes are all connection modes, and the number of masters on which each lock is taken.
var modes = map[string]struct {
	masters int
	start   func(*testing.T) locks.Store
}{
	"single": {1, func(t *testing.T) locks.Store { return redistest.Start(t).Store() }},
	"replicated": {1, func(t *testing.T) locks.Store {
		master := redistest.Start(t)
		redistest.Start(t).Follow(t, master)
		return service.Store(locks.Replicated, master.Node("redis-1"))
	}},
	"sentinel": {1, func(t *testing.T) locks.Store {
		sentinel := redistest.StartSentinel(t, "mymaster", redistest.Start(t))
		return service.SentinelStore("mymaster", sentinel.Node("sentinel-1"))
	}},
	"cluster": {1, func(t *testing.T) locks.Store { return redistest.StartCluster(t, 3).Store() }},
	"independent": {3, func(t *testing.T) locks.Store {
		_, store := independent(t, 3)
		return store
	}},
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

// In every connection mode, an acquire and its release are one script each on each master, and at most one further command, a
// DEL of latches. A lock on several masters also sets its lease with one command each, as in Redisson. A waiter sends nothing
// while it waits. The test counts on the wire, so it includes the commands that a library adds.
func TestCostInEveryMode(t *testing.T) {
	for mode, on := range modes {
		t.Run(mode, func(t *testing.T) {
			store := on.start(t)
			for name, of := range family {
				if ofSeveral(name) != (on.masters > 1) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					asks := func(ttl, wait time.Duration) locks.Request {
						return locks.Request{Keys: []string{name}, TTL: ttl, Wait: wait}
					}
					requests := []locks.Request{asks(time.Hour, 0)}
					if !ofSeveral(name) {
						requests = append(requests, asks(0, 0), asks(time.Hour, time.Hour))
					}
					if name == "redisson-port-rw" {
						requests = append(requests, read(asks(time.Hour, 0)))
					}
					o, parking := reached(redisson.Parking)
					a, wireA := redistest.OpenOver(t, of(o), store, 1)
					b, wireB := redistest.OpenOver(t, of(o), store, 2)
					for _, r := range requests {
						give(t, take(t, a, r)) // connects, loads the scripts
					}
					give(t, take(t, b, requests[0]))
					swept := func(since map[string]int) {
						t.Helper()
						redistest.Await(t, "latches are swept", func() bool { return cost(wireA, since)["del"] >= on.masters })
					}
					swept(nil)
					const rounds = 10
					before := wireA.Sent()
					for range rounds {
						for _, r := range requests {
							give(t, take(t, a, r))
						}
					}
					swept(before)
					sent, each := cost(wireA, before), rounds*len(requests)*on.masters
					want := map[string]int{"evalsha": 2 * each}
					switch {
					case ofSeveral(name):
						want["pexpire"] = each
					case name == "redisson-port-wait" && mode == "replicated":
						want["wait"] = 2 * each
					}
					if n := sent["del"]; n > each {
						t.Errorf("%d DEL for %d rounds, want one each at most", n, each)
					}
					delete(sent, "del")
					if !maps.Equal(sent, want) {
						t.Errorf("%d rounds sent %v, want %v", each, sent, want)
					}

					if name == "redisson-port-spin" {
						return // it polls
					}
					held := take(t, a, requests[0])
					waiting := ask(t.Context(), b, asks(time.Hour, time.Hour))
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

// A waiter sends the commands of the algorithm.
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
