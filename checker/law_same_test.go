package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/history"
)

// Law 1: names, numbers, the start of the clock, and events on other keys do not change the report: the verdicts, the
// classes, and the rule, key, sessions and events of each finding. Some details of a report depend on unrelated events or
// on the end of the history. [foundAs], [standsStill] and TestElsewhere exclude them.

// TestSilentProbe adds the event of a probe without facts, or with the remaining lease of a session that is not in the
// history.
func TestSilentProbe(t *testing.T) {
	holds(t, func(h *history.History, r *rand.Rand) string {
		quiet := []said{{}, {kept: "absent", ttl: time.Duration(r.IntN(40)) * time.Second}}[r.IntN(2)]
		return inserted(h, r, []history.Event{probe(quiet)})
	})
}

// TestElsewhere adds a client that is granted an unrelated key and releases it. The client requests a lease only if
// another grant has one, because linearizable judges a whole history only if no grant has a lease.
func TestElsewhere(t *testing.T) {
	holds(t, func(h *history.History, r *rand.Rand) string {
		e := history.Event{Process: 1000, Client: 1000, Session: "elsewhere", F: history.Acquire, Type: history.Invoke, Key: "elsewhere"}
		if r.IntN(2) == 0 && len(h.Sessions) > 0 && !countsCommands(h) {
			// Or use an existing client, unless this adds to its counted operations or shows that it has
			// reconnected after a fault.
			client := h.Sessions[r.IntN(len(h.Sessions))].Client
			if !slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return f.Reconnects(client) }) {
				e.Client = client
			}
		}
		if leased(h) {
			e.TTL = time.Duration(r.IntN(5)) * time.Second
		}
		answer := e
		answer.Type, answer.Key, answer.TTL = history.OK, "", 0
		if h.Header.Model.Has(history.Fenced) {
			answer.Token = new(uint64(1))
		}
		check, checked := e, answer
		check.F, check.Key, check.TTL, checked.F, checked.Token = history.Check, "", 0, history.Check, nil
		release, released := check, checked
		release.F, released.F = history.Release, history.Release
		var without []string
		if h.Header.Claims.Fenced || h.Header.Model.Has(history.Fenced) {
			// The absence of all tokens is a fact about the history, not about a key.
			answer.Token = new(uint64(1))
			if !slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.F == history.Acquire && e.Token != nil }) {
				without = append(without, Fencing)
			}
		}
		return inserted(h, r, []history.Event{e, answer, check, checked, release, released}, without...)
	})
}

// TestStrangersDeath adds the death of a client that never requested anything.
func TestStrangersDeath(t *testing.T) {
	holds(t, func(h *history.History, r *rand.Rand) string {
		return inserted(h, r, []history.Event{{Process: 1000, Client: 1000, Type: history.Info, F: history.Died}})
	})
}

// inserted inserts unrelated events between the events of a history, keeps their order, and compares the reports.
func inserted(h *history.History, r *rand.Rand, extra []history.Event, without ...string) string {
	places := make([]int, len(extra))
	for i := range places {
		places[i] = r.IntN(len(h.Events) + 1)
		if r.IntN(4) == 0 {
			places[i] = len(h.Events)
		}
	}
	slices.Sort(places)
	var events []history.Event
	index := map[int]int{}
	now := time.Duration(0)
	for pos := range len(h.Events) + 1 {
		next := now + time.Duration(r.IntN(3))*50*time.Second
		if pos < len(h.Events) {
			next = h.Events[pos].Time
		} else if standsStill(h) {
			next = now
		}
		for len(places) > 0 && places[0] == pos {
			e := extra[0]
			// Often use exactly the time of the previous or the next event.
			e.Time = []time.Duration{now, next, now + (next-now)/2}[r.IntN(3)]
			e.Index, now = len(events), e.Time
			events = append(events, e)
			places, extra = places[1:], extra[1:]
		}
		if pos < len(h.Events) {
			e := h.Events[pos]
			index[len(events)] = e.Index
			e.Index, now = len(events), e.Time
			events = append(events, e)
		}
	}
	other, err := history.Build(h.Header, events)
	if err != nil {
		return "malformed: " + err.Error()
	}
	return differ(h, other, seen{index: func(i int) int { return index[i] }, without: without, others: h})
}

// standsStill reports whether a pause or another fault lasts until the end of the history. Its length, and so the
// renewals that a library could have made, then depend on the time of the last event:
//
//	0.000 c1 acquire a   0.001 c1 ok renewed=true lease=3s   1.000 nemesis pause begins targets=client-1
//	1.500 c2 acquire a   1.501 c2 ok                         [99.000 a client asks for another key]
//
// Client 1 believes in its lease during a pause of half a second, and not during one of 98 s.
func standsStill(h *history.History) bool {
	// Any such fault may prevent renewals.
	return slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return f.Healed < 0 })
}

func countsCommands(h *history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool { return heard(&e).counted })
}

// TestShiftingAll shifts all times.
func TestShiftingAll(t *testing.T) {
	holds(t, func(h *history.History, r *rand.Rand) string {
		by := time.Duration(1 + r.Int64N(int64(time.Hour)))
		events := slices.Clone(h.Events)
		for i := range events {
			events[i].Time += by
		}
		return rebuilt(h, h.Header, events, seen{})
	})
}

// Other numbers and names for all that has one: clients, processes, sessions, owners,
// steps, indexes, keys. The order of the names of keys stays, because if several keys of one
// session the first by name stands for what they guard together.
func TestRenumbering(t *testing.T) {
	holds(t, func(h *history.History, r *rand.Rand) string {
		clients, processes, steps := numbers(r), numbers(r), numbers(r)
		prefix := fmt.Sprintf("%d-", r.IntN(100))
		events := slices.Clone(h.Events)
		back := map[int]int{}
		index := 0
		for i := range events {
			e := &events[i]
			index += 1 + r.IntN(3)
			back[index], e.Index = e.Index, index
			rename(e, prefix, clients, processes, steps)
		}
		return rebuilt(h, h.Header, events, seen{
			index:   func(i int) int { return back[i] },
			session: func(name string) string { return strings.TrimPrefix(name, prefix) },
			key:     func(key string) string { return strings.TrimPrefix(key, prefix) },
		})
	})
}

// numbers gives each number another, never the same to two.
func numbers(r *rand.Rand) func(int) int {
	given, taken := map[int]int{}, map[int]bool{}
	return func(n int) int {
		if _, known := given[n]; !known {
			to := r.IntN(1000)
			for taken[to] {
				to++
			}
			given[n], taken[to] = to, true
		}
		return given[n]
	}
}

func rename(e *history.Event, prefix string, clients, processes, steps func(int) int) {
	name := func(s *string) {
		if *s != "" {
			*s = prefix + *s
		}
	}
	names := func(all *[]string) {
		*all = slices.Clone(*all)
		for i := range *all {
			name(&(*all)[i])
		}
	}
	if e.Process == history.Probe {
		s := heard(e)
		at, index := e.Time, e.Index
		names(&s.queued)
		names(&s.left)
		names(&s.ending)
		name(&s.kept)
		if s.counted {
			s.client = int32(clients(int(s.client)))
		}
		*e = probe(s)
		e.Time, e.Index = at, index
		return
	}
	if e.Process >= 0 {
		e.Process, e.Client = history.Process(processes(int(e.Process))), int32(clients(int(e.Client)))
	}
	name(&e.Session)
	name(&e.Key)
	name(&e.Owner)
	names(&e.Keys)
	if e.Process == history.Nemesis {
		e.Step = steps(e.Step)
		e.Targets = slices.Clone(e.Targets)
		for i, target := range e.Targets {
			if p := history.ParseParty(target); p.IsClient() {
				e.Targets[i] = history.ClientParty(clients(p.Number)).String()
			}
		}
	}
}

func rebuilt(h *history.History, header history.Header, events []history.Event, v seen) string {
	other, err := history.Build(header, events)
	if err != nil {
		return "malformed: " + err.Error()
	}
	return differ(h, other, v)
}
