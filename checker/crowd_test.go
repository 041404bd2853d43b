package checker

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// pairs computes the result of exclusion by a comparison of every two holds.
func pairs(l *ledger) Result {
	s := overlaps{ledger: l, found: map[*hold.Hold]overlap{}, open: map[*hold.Hold]overlap{}}
	for _, k := range l.Keys {
		for i, t := range k.Granted {
			for _, mode := range []locks.Mode{locks.Exclusive, locks.Shared} {
				for _, a := range k.Granted[:i] {
					if a.Session.Mode == mode && hold.Conflict(a, t) {
						s.pair(k.Name, a, t)
					}
				}
			}
		}
	}
	return s.result()
}

// pair compares two holds, the earlier one first. The later one begins inside the work of the earlier one or not at all.
func (s *overlaps) pair(key string, a, t *hold.Hold) {
	o := overlap{key: key, earlier: a, later: t}
	of := s.open
	switch {
	case t.Grant < a.Least.Work.To && !t.Least.Work.Empty():
		o.class, of = classify(s.ledger, a, t), s.found
	case t.Grant >= a.Most.Work.To || t.Most.Work.Empty():
		return
	}
	if best, ok := of[t]; !ok || o.worse(best) {
		of[t] = o
	}
}

func TestCrowdAgainstPairs(t *testing.T) {
	n := 3_000
	if os.Getenv("LOCKBENCH_VERIFY") != "" {
		n = 100_000
	}
	r := rand.New(rand.NewPCG(5, 7))
	seen := map[string]int{}
	for i := range n {
		h := crowded(r)
		if i%2 == 0 {
			h = wide(r)
		}
		for _, release := range []Release{Ended, Strict} {
			l := newLedger(h, Options{Release: release})
			got, want := holders(l), pairs(l)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("release %s:\n%s\n%s", release, diff, lines(h))
			}
			seen[words(got.Verdict, got.Worst())]++
		}
	}
	t.Logf("judged: %v", seen)
	for _, said := range []string{"valid", "unknown", "violated overstay", "violated undetermined", "violated double-grant"} {
		if seen[said] == 0 {
			t.Errorf("none of the histories was %s, so this shows little", said)
		}
	}
}

// TestLieAgainstPairs compares each lost update with all writes before it.
func TestLieAgainstPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 13))
	seen := map[bool]int{}
	for range 3_000 {
		l := newLedger(wide(r), Options{})
		for _, c := range counters(l) {
			want := false
			for i, w := range c.writes {
				overlaps := func(x *write) bool {
					return x.Session != w.Session && x.value >= w.value && max(x.Most.Work.To, x.op.Return) > w.since
				}
				want = want || c.form == history.Plain && i > 0 && w.value <= c.writes[i-1].value && !slices.ContainsFunc(c.writes[:i], overlaps) &&
					!slices.ContainsFunc(c.unsure, func(u *write) bool { return u.op.Invoke < w.op.Return })
			}
			if got := c.contradiction(l); (got != "") != want {
				t.Fatalf("got %q, want a contradiction: %t\n%s", got, want, lines(l.h))
			}
			seen[want]++
		}
	}
	t.Logf("lies: %v", seen)
	if seen[true] == 0 || seen[false] == 0 {
		t.Error("all counters were judged alike, so this shows little")
	}
}

// crowded draws a history of a lock that grants everything to many clients, some of which have an owner in common. Leases end, are
// renewed, or are of unknown length, and clients are paused.
func crowded(r *rand.Rand) *history.History {
	clients := 2 + r.IntN(12)
	var events []history.Event
	now := time.Duration(0)
	add := func(e history.Event) *history.Event {
		now += time.Duration(r.IntN(3)) * time.Millisecond
		e.Index, e.Time = len(events), now
		events = append(events, e)
		return &events[e.Index]
	}
	ms := func(n int) time.Duration { return time.Duration(1+r.IntN(n)) * time.Millisecond }
	taken, gone, paused := make([]bool, clients), make([]bool, clients), make([]int, clients)
	for step := range 10 * clients {
		c := r.IntN(clients)
		e := history.Event{Process: history.Process(c), Client: int32(c), Type: history.Invoke, Session: string(rune('a' + c))}
		call := func(f string) history.Event { e.F = f; return e }
		answer := func(typ history.Type) history.Event { e.Type = typ; return e }
		switch n := r.IntN(24); {
		case gone[c]:
		case n == 0:
			add(history.Probed(history.ClockStep{By: time.Second}))
		case n < 3:
			phase := history.Healed
			if paused[c] == 0 {
				paused[c], phase = step+1, history.Begins
			}
			add(history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Step: paused[c], Targets: []string{history.ClientParty(c).String()}, Phase: phase})
			if phase == history.Healed {
				paused[c] = 0
			}
		case !taken[c]:
			taken[c] = true
			asked := add(call(history.Acquire))
			asked.Key, asked.Owner = "a", string(rune('A'+r.IntN(clients)))
			if r.IntN(4) == 0 {
				asked.Mode = locks.Shared
			}
			if r.IntN(3) > 0 {
				asked.TTL = ms(30)
			}
			if r.IntN(3) == 0 {
				asked.Wait = ms(30)
			}
			ttl := asked.TTL
			granted := add(answer(history.OK))
			switch {
			case ttl > 0 && r.IntN(3) > 0:
				granted.Until = new(ms(40))
			case ttl == 0 && r.IntN(2) == 0:
				granted.Renewed, granted.Lease = true, ms(20)
			}
		case n < 8:
			asked := add(call(history.Renew))
			asked.TTL = ms(30)
			add(answer(history.OK))
		case n < 16:
			add(call(history.Check))
			add(answer(history.OK))
		case n < 20:
			add(call(history.Release))
			add(answer(history.OK))
			gone[c] = true
		}
	}
	h, err := history.Build(history.Header{Model: history.Model{history.RW, history.Reentrant}}, events)
	if err != nil {
		panic(err)
	}
	return h
}
