package bench

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

func waiters(s *script, n int) {
	n /= 4
	for i := range n {
		s.ask(i, id(i), "a", 0, hour)
	}
	for i := range n {
		s.granted(i, id(i), 0)
		s.done(i, history.Release, id(i))
	}
}

func queued(s *script, n int) {
	s.header.Claims.Fair = true
	for first := 0; first < n/5; first += crowdMax {
		last := min(first+crowdMax, n/5)
		for i := first; i < last; i++ {
			s.ask(i, id(i), "a", 0, hour)
			s.probe(history.Queued{Sessions: []string{id(i)}})
		}
		for i := first; i < last; i++ {
			s.granted(i, id(i), 0)
			s.done(i, history.Release, id(i))
		}
	}
}

// undetermined: each client was granted its lease at some time during its wait, and may still hold.
func undetermined(s *script, n int) {
	for i := range n / 2 {
		s.ask(i, id(i), "a", hour, 2*hour)
	}
	s.now += hour + time.Minute
	for i := range n / 2 {
		s.granted(i, id(i), 0)
	}
}

func manyKeys(s *script, n int) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("k", i)
	}
	s.ask(0, id(0), "", 0, 0).Keys = names
	s.granted(0, id(0), 0)
	s.done(0, history.Release, id(0))
}

func manyLocks(s *script, n int) {
	for i := range n / 4 {
		s.take(i%clients, id(i), fmt.Sprint("k", i), 0)
		s.done(i%clients, history.Release, id(i))
	}
}

func nested(s *script, n int) {
	s.header.Model = history.Model{history.Reentrant, history.Fenced}
	for first := 0; first < n/4; first += crowdMax {
		last := min(first+crowdMax, n/4)
		for i := first; i < last; i++ {
			s.ask(0, id(i), "a", 0, 0).Owner = "o"
			e := s.granted(0, id(i), 0)
			e.Token = new(uint64(first + 1))
		}
		for i := last - 1; i >= first; i-- {
			s.done(0, history.Release, id(i))
		}
	}
}

func expired(s *script, n int) {
	s.header.Model = history.Model{history.Reentrant}
	for i := range n / 4 {
		s.ask(0, id(i), "a", ttl, 0).Owner = "o"
		s.granted(0, id(i), ttl)
		s.now += 2 * ttl
		s.notHeld(0, history.Release, id(i))
	}
}

func pauses(s *script, n int) {
	s.header.Bounds = &history.Bounds{Bites: 1}
	for i := range n / 8 {
		s.now += time.Second // or each pause would hold up the requests of all later ones
		e := s.take(0, id(i), "a", 0)
		e.Renewed, e.Lease = true, ttl
		for _, phase := range []string{history.Begins, history.Bites, history.Heals, history.Healed} {
			s.fault("pause", phase, i+1, "client-0")
		}
		s.done(0, history.Release, id(i))
		s.header.Plan = append(s.header.Plan, history.PlanStep{ID: i + 1, Fault: "pause", Targets: []string{"client-0"}})
	}
}

func deaths(s *script, n int) {
	s.header.Model = history.Model{history.RW}
	for i := range n / 3 {
		s.shared(i, id(i), hour*24*365)
		s.say(i, history.Info, history.Died, "").Client = int32(i % clients)
	}
}

// shared is an acquire as a reader by one of a few clients.
func (s *script) shared(process int, session string, ttl time.Duration) {
	e := s.ask(process, session, "a", ttl, 0)
	e.Mode, e.Client = locks.Shared, int32(process%clients)
	s.granted(process, session, ttl).Client = int32(process % clients)
}

// readers: as many readers as clients at a time.
func readers(s *script, n int) {
	s.header.Model = history.Model{history.RW}
	for i := range n / 6 {
		s.shared(i%clients, id(i), 0)
		s.refused(clients, "w"+id(i), "a")
		if last := i - clients + 1; last >= 0 {
			s.done(last%clients, history.Release, id(last))
		}
	}
}

func crowd(s *script, n int) {
	n /= 6
	s.header.Model = history.Model{history.RW}
	for i := range n {
		e := s.ask(i, id(i), "a", 0, 0)
		e.Mode = locks.Shared
		s.granted(i, id(i), 0)
		s.refused(n, "w"+id(i), "a")
	}
	for i := range n {
		s.done(i, history.Release, id(i))
	}
}

// doubted: only readers with unknown outcome can be the reason for the refusals of the writers.
func doubted(s *script, n int) {
	s.header.Model = history.Model{history.RW}
	const group = 10
	for i := range n / (6*group + 4) {
		from := 1 + group*i
		for p := from; p < from+group; p++ {
			s.ask(p, id(p), "a", 0, 0).Mode = locks.Shared
			s.say(p, history.Info, history.Acquire, id(p))
		}
		for p := from; p < from+group; p++ {
			s.refused(0, "w"+id(p), "a")
		}
		for p := from; p < from+group; p++ {
			s.say(p, history.Invoke, history.Release, id(p))
			s.say(p, history.Info, history.Release, id(p))
		}
		s.take(0, "h"+id(i), "a", 0)
		s.done(0, history.Release, "h"+id(i))
	}
}

// unknownAcquires: any of them may be the reason for the refusals of others.
func unknownAcquires(s *script, n int) {
	for i := range n / 8 {
		s.ask(i+1, id(i), "a", 0, 0)
		s.say(i+1, history.Info, history.Acquire, id(i))
		s.refused(0, "r"+id(i), "a")
		s.say(i+1, history.Invoke, history.Release, id(i))
		s.say(i+1, history.OK, history.Release, id(i))
		s.take(0, "h"+id(i), "a", 0)
		s.done(0, history.Release, "h"+id(i))
	}
}

// unknownWrites: every other write was applied without an answer.
func unknownWrites(s *script, n int) {
	for i := range n / 10 {
		s.take(i+1, id(2*i), "a", 0)
		s.writes(i+1, id(2*i), int64(2*i+1))
		s.say(i+1, history.Info, history.Write, id(2*i))
		s.done(i+1, history.Release, id(2*i))
		s.take(0, id(2*i+1), "a", 0)
		s.counts(0, id(2*i+1), int64(2*i+1))
		s.done(0, history.Release, id(2*i+1))
	}
}

// looks: reads without a session and without a key.
func looks(s *script, n int) {
	for i := range n / 6 {
		s.take(0, id(i), "a", 0)
		s.done(0, history.Release, id(i))
		s.say(1, history.Invoke, history.FRead, "")
		e := s.say(1, history.OK, history.FRead, "")
		e.Value = new(int64(0))
	}
}

func counted(s *script, n int) {
	n /= 6
	look := func() {
		s.now += time.Second
		for i := range n {
			s.probe(history.Sent{Client: int32(i), Commands: 0})
		}
	}
	look()
	for i := range n {
		s.take(i, id(i), fmt.Sprint("k", i), ttl)
		s.done(i, history.Release, id(i))
	}
	look()
}

func left(s *script, n int) {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("latch-", i)
	}
	s.take(0, id(0), "a", ttl)
	s.done(0, history.Release, id(0))
	for part := range slices.Chunk(names, 200_000) { // the length of a line is limited
		s.probe(history.Left{Names: part, Ending: part})
	}
}
