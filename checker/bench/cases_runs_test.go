package bench

import (
	"fmt"
	"time"

	"lockbench/internal/history"
)

// goodRun is a run without findings: clients wait for one of many locks, work, and release it, while faults begin and heal. The
// numbers of keys, recovery periods and faults grow with the number of events.
func goodRun(s *script, n int) {
	keys := max(2, n/100)
	s.header.Bounds = &history.Bounds{GrantsBefore: 1, GrantsAfter: 1, Bites: 1}
	values := make([]int64, keys)
	commands := 0
	count := func() {
		for c := range clients {
			s.probe(history.Sent{Client: int32(c), Commands: commands})
		}
	}
	for i, step := 0, 0; len(s.events) < n; step++ {
		s.probe(history.QuietBegins)
		count()
		for range clients {
			client, key, name := i%clients, i*7919%keys, id(i)
			s.ask(client, name, fmt.Sprint("k", key), ttl, time.Second)
			s.granted(client, name, ttl)
			s.probe(history.Kept{TTL: new(ttl), Session: name})
			s.counts(client, name, values[key])
			s.done(client, history.Release, name)
			values[key]++
			commands += 10
			i++
		}
		s.now += time.Second
		count()
		s.probe(history.QuietEnds)
		for _, phase := range []string{history.Begins, history.Bites, history.Heals, history.Healed} {
			s.fault("cut", phase, step+1, "redis-1")
		}
	}
	s.take(0, "last", "k0", ttl)
}

func oneKey(s *script, n int) {
	s.probe(history.QuietBegins)
	s.ask(0, id(0), "a", ttl, time.Second)
	for i := range n / 4 {
		c, next := i%clients, (i+1)%clients
		s.ask(next, id(i+1), "a", ttl, time.Second) // while the previous one holds
		s.granted(c, id(i), ttl)
		s.done(c, history.Release, id(i))
	}
	s.probe(history.QuietEnds)
}

func stretches(s *script, n int) {
	for i := range n / 7 {
		s.probe(history.QuietBegins)
		s.take(i%clients, id(i), "a", ttl)
		s.probe(history.Kept{TTL: new(ttl), Session: id(i)})
		s.done(i%clients, history.Release, id(i))
		s.probe(history.QuietEnds)
	}
}

func renewals(s *script, n int) {
	s.take(0, id(0), "a", ttl)
	for range n / 2 {
		s.say(0, history.Invoke, history.Renew, id(0)).TTL = ttl
		e := s.say(0, history.OK, history.Renew, id(0))
		e.Until = new(ttl)
	}
	s.done(0, history.Release, id(0))
}

func failedChecks(s *script, n int) {
	s.take(0, id(0), "a", 0)
	for range n / 2 {
		s.notHeld(0, history.Check, id(0))
	}
	s.done(0, history.Release, id(0))
}

func asked(s *script, n int) {
	s.take(0, id(0), "a", ttl)
	for range n / 3 {
		s.done(0, history.Check, id(0))
		s.probe(history.Kept{TTL: new(ttl), Session: id(0)})
	}
	s.done(0, history.Release, id(0))
}

// refusedRenewals: a client that renews a lease that has ended again and again.
func refusedRenewals(s *script, n int) {
	s.take(0, id(0), "a", time.Millisecond)
	s.now += time.Second
	for range n / 4 {
		s.notHeld(0, history.Renew, id(0))
		s.notHeld(0, history.Release, id(0))
	}
}

// sleepers: all clients except the last one overstay.
func sleepers(s *script, n int) {
	n /= 6
	for i := range n {
		s.take(i, id(i), "a", ttl)
		s.now += 2 * ttl
	}
	for i := range n {
		s.done(i, history.Check, id(i))
		s.notHeld(i, history.Release, id(i))
	}
}

// holders: a lock that excludes no client, so that all updates except the last one are lost.
func holders(s *script, n int) {
	n /= 8
	for i := range n {
		s.take(i, id(i), "a", hour)
	}
	for i := range n {
		s.counts(i, id(i), 0)
	}
	for i := range n {
		s.done(i, history.Release, id(i))
	}
}

// undone: only the first write, which was long ago, overlaps with those that lose updates.
func undone(s *script, n int) {
	s.take(0, id(0), "a", 0)
	s.counts(0, id(0), 1_000_000)
	for i := 1; i < n/8; i++ {
		s.take(i, id(i), "a", 0)
		s.counts(i, id(i), 0)
		s.done(i, history.Release, id(i))
	}
	s.done(0, history.Release, id(0))
}
