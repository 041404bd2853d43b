package hold

import (
	"testing"
	"time"

	"lockbench/internal/history"
)

// script builds small histories: each line is a time in milliseconds, a client, and what
// it does or is answered under its only session.
type script struct{ events []history.Event }

func (s *script) add(ms int, client int32, kind history.Type, f string, more ...func(*history.Event)) {
	e := history.Event{
		Index: len(s.events), Time: time.Duration(ms) * time.Millisecond, Process: history.Process(client), Client: client,
		Type: kind, F: f, Session: string(rune('a' + client)),
	}
	for _, m := range more {
		m(&e)
	}
	s.events = append(s.events, e)
}

func (s *script) fault(ms int, name, phase string, targets ...string) {
	s.events = append(s.events, history.Event{
		Index: len(s.events), Time: time.Duration(ms) * time.Millisecond, Process: history.Nemesis, Type: history.Info, F: name,
		Step: 1, Phase: phase, Targets: targets,
	})
}

func key(e *history.Event) { e.Key = "k" }

func ttl(ms int) func(*history.Event) {
	return func(e *history.Event) { e.TTL = time.Duration(ms) * time.Millisecond }
}

func fails(reason string) func(*history.Event) {
	return func(e *history.Event) { e.Error = reason }
}

func renewed(ms int) func(*history.Event) {
	return func(e *history.Event) {
		e.Renewed, e.Lease = true, time.Duration(ms)*time.Millisecond
	}
}

func (s *script) hold(t *testing.T) (*Book, *Hold) {
	t.Helper()
	h, err := history.Build(history.Header{}, s.events)
	if err != nil {
		t.Fatal(err)
	}
	b := Find(h, false)
	return b, &b.All[0]
}

// A lease ends from the moment it was asked for, and a claim at the call of the release.
func TestLeaseAndClaim(t *testing.T) {
	var s script
	s.add(0, 0, history.Invoke, history.Acquire, key, ttl(1000))
	s.add(100, 0, history.OK, history.Acquire)
	s.add(2000, 0, history.Invoke, history.Check)
	s.add(2001, 0, history.OK, history.Check)
	s.add(3000, 0, history.Invoke, history.Release)
	s.add(3001, 0, history.OK, history.Release)
	_, d := s.hold(t)
	if d.Lease.Kind != Bounded || d.Lease.First != time.Second {
		t.Errorf("the lease is %v", d.Lease)
	}
	if d.Claim.To != 4 || !d.Asked || d.Sign != 2 || d.Least.Work.To != 3 || believedEnd(d) != 2 {
		t.Errorf("claim to %d, asked %v, sign %d, work to %d, belief to %d", d.Claim.To, d.Asked, d.Sign, d.Least.Work.To, believedEnd(d))
	}
	if d.Ends.Lapse != 2 || d.Ends.Proven != 4 || d.Ends.Possible != 5 {
		t.Errorf("ends %+v", d.Ends)
	}
}

func believedEnd(d *Hold) int { return d.Least.Beliefs[len(d.Least.Beliefs)-1].To }

// The order in which the service takes two concurrent renewals is unknown, and one that is never
// answered may come after one that is.
func TestRenewalsThatOverlap(t *testing.T) {
	var s script
	s.add(0, 0, history.Invoke, history.Acquire, key, ttl(1000))
	s.add(1, 0, history.OK, history.Acquire)
	other := func(e *history.Event) { e.Process = 7 }
	s.add(2, 0, history.Invoke, history.Renew, ttl(100), other)
	s.add(3, 0, history.Invoke, history.Renew, ttl(5000))
	s.add(4, 0, history.OK, history.Renew)
	s.add(5, 0, history.Info, history.Renew, other)
	_, d := s.hold(t)
	if first, _ := d.LeaseEnd(5); first != 103*time.Millisecond {
		t.Errorf("the lease ends at %s at the earliest, want 103 ms: the first renewal may come last", first)
	}
}

// News of a loss is taken back by what the lock confirms after it, and is no news after the
// call of a release that worked.
func TestNews(t *testing.T) {
	for name, c := range map[string]struct {
		to    int
		after func(s *script)
	}{
		"nothing after it": {2, func(s *script) {}},
		"a later check": {5, func(s *script) {
			s.add(20, 0, history.Invoke, history.Check)
			s.add(21, 0, history.OK, history.Check)
		}},
	} {
		var s script
		s.add(0, 0, history.Invoke, history.Acquire, key)
		s.add(1, 0, history.OK, history.Acquire)
		s.add(10, 0, history.Info, history.Lost)
		c.after(&s)
		if _, d := s.hold(t); d.Claim.To != c.to {
			t.Errorf("%s: the claim ends at %d, want %d", name, d.Claim.To, c.to)
		}
	}
	var s script
	s.add(0, 0, history.Invoke, history.Acquire, key)
	s.add(1, 0, history.OK, history.Acquire)
	s.add(2, 0, history.Invoke, history.Release)
	s.add(3, 0, history.Info, history.Lost)
	s.add(4, 0, history.OK, history.Release)
	if _, d := s.hold(t); d.Claim.To != 2 || !d.Asked {
		t.Errorf("a loss that the release explains: the claim ends at %d", d.Claim.To)
	}
}

// A renewed lease is lost by what keeps its library from renewing for too long, and from
// the first call of a release on no client renews it.
func TestRenewedLease(t *testing.T) {
	for _, c := range []struct {
		name     string
		healed   int
		answered int
		runs     bool
	}{
		{"a short pause costs nothing", 1500, 9000, true},
		{"a long one may have cost the lease", 4000, 9000, false},
		{"an answer long after the call of the release", 1500, 12000, false},
	} {
		var s script
		s.add(0, 0, history.Invoke, history.Acquire, key)
		s.add(1, 0, history.OK, history.Acquire, renewed(3000))
		s.fault(1000, "pause", history.Begins, "client-0")
		s.fault(c.healed, "pause", history.Healed, "client-0")
		s.add(8999, 0, history.Invoke, history.Release)
		s.add(c.answered, 0, history.Fail, history.Release, fails(history.ErrorNotHeld))
		b, d := s.hold(t)
		if runs := b.Runs(d, d.Session.Ops[0], d.Session.Ops[0].Return); runs != c.runs {
			t.Errorf("%s: the lease ran is %v", c.name, runs)
		}
	}
}

// Where two spans meet between two events, their times decide, and no other event.
func TestMeetBetweenEvents(t *testing.T) {
	ends := Span{From: 2, To: 8, until: 2 * time.Second}
	for since, want := range map[time.Duration]int{time.Second: 8, 3 * time.Second: -1} {
		if at := Meet([]Span{ends}, []Span{{From: 8, To: 9, since: since}}); at != want {
			t.Errorf("one that ends at 2 s and one that begins at %s meet at %d, want %d", since, at, want)
		}
	}
}
