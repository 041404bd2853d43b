package checker

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockbench/internal/history"
)

// TestMerging merges two histories with different keys in a random order. The verdict on the result is the worse of the
// two verdicts.
func TestMerging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := withoutClocks(t, random(t)), withoutClocks(t, random(t))
		b = changed(t, b, elsewhere)
		merged := merge(t, a, b)
		for _, name := range []string{Exclusion, Results} {
			one, two, both := alone(name, a, Options{}), alone(name, b, Options{}), alone(name, merged, Options{})
			want := max(one.Verdict, two.Verdict)
			if both.Verdict != want || both.Violations != one.Violations+two.Violations {
				t.Fatalf("%s: %s with %d and %s with %d, together %s with %d\n%s", name,
					one.Verdict, one.Violations, two.Verdict, two.Violations, both.Verdict, both.Violations, lines(merged))
			}
		}
	})
}

// withoutClocks removes everything that depends on time or concerns all keys: ends of leases, and faults.
func withoutClocks(t *rapid.T, h *history.History) *history.History {
	kept := slices.DeleteFunc(slices.Clone(h.Events), func(e history.Event) bool { return e.Process < 0 })
	for i := range kept {
		kept[i].Index, kept[i].Time = i, 0
		withoutLease(&kept[i])
	}
	return build(t, h.Header, kept)
}

// elsewhere moves an event to other keys, clients and sessions.
func elsewhere(e *history.Event) {
	if e.Process >= 0 {
		e.Process, e.Client = e.Process+1000, e.Client+1000
	}
	if e.Session != "" {
		e.Session = "other " + e.Session
	}
	if e.Key != "" {
		e.Key = "other " + e.Key
	}
	e.Keys = slices.Clone(e.Keys)
	for i := range e.Keys {
		e.Keys[i] = "other " + e.Keys[i]
	}
}

func merge(t *rapid.T, a, b *history.History) *history.History {
	var events []history.Event
	left, right := a.Events, b.Events
	for len(left)+len(right) > 0 {
		from := &left
		if len(left) == 0 || len(right) > 0 && rapid.Bool().Draw(t, "right") {
			from = &right
		}
		e := (*from)[0]
		*from = (*from)[1:]
		e.Index, e.Time = len(events), time.Duration(0)
		events = append(events, e)
	}
	return build(t, a.Header, events)
}

func build(t *rapid.T, h history.Header, events []history.Event) *history.History {
	t.Helper()
	built, err := history.Build(h, events)
	if err != nil {
		t.Fatalf("the changed history is malformed: %v", err)
	}
	return built
}

// TestStretching multiplies all times and leases. That must not change verdicts, which depend on their order.
func TestStretching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// The period of a watchdog is a third of its lease, and rounding would break the law for leases that are
		// not multiples of three nanoseconds.
		h := stretched(t, random(t), 3)
		other := stretched(t, h, time.Duration(rapid.IntRange(2, 1000).Draw(t, "by")))
		for _, name := range []string{Exclusion, Fencing, Resource, Fairness} {
			alike(t, name, h, other)
		}
	})
}

func stretched(t *rapid.T, h *history.History, by time.Duration) *history.History {
	return changed(t, h, func(e *history.Event) {
		e.Time, e.TTL, e.Wait, e.Lease = by*e.Time, by*e.TTL, by*e.Wait, by*e.Lease
		if e.Until != nil {
			e.Until = new(by * *e.Until)
		}
	})
}

// TestAddingAFailure adds an attempt that failed and claims nothing. That must not change verdicts.
func TestAddingAFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		asked := rapid.IntRange(0, len(h.Events)).Draw(t, "asked")
		told := rapid.IntRange(asked, len(h.Events)).Draw(t, "told")
		e := history.Event{Process: 77, Client: 77, F: history.Acquire, Session: "refused"}
		call, answer := e, e
		call.Type, call.Key = history.Invoke, "a"
		answer.Type, answer.Error = history.Fail, history.ErrorTaken
		var events []history.Event
		for i := 0; i <= len(h.Events); i++ {
			at := time.Duration(0)
			if i > 0 {
				at = h.Events[i-1].Time
			}
			for pos, extra := range map[int]history.Event{asked: call, told: answer} {
				if pos == i && asked != told {
					extra.Time = at
					events = append(events, extra)
				}
			}
			if asked == told && i == asked {
				call.Time, answer.Time = at, at
				events = append(events, call, answer)
			}
			if i < len(h.Events) {
				events = append(events, h.Events[i])
			}
		}
		for i := range events {
			events[i].Index = i
		}
		other := build(t, h.Header, events)
		for _, name := range []string{Exclusion, Results, Fencing, Resource} {
			alike(t, name, h, other)
		}
	})
}

// TestDroppingAnUnknown removes an attempt with unknown outcome. That must not change exclusion, which counts only granted
// sessions as holders. And if results is violated with the attempt, it is violated without it, because the attempt can
// only explain more answers.
func TestDroppingAnUnknown(t *testing.T) {
	dropped := 0
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		var unknown []string
		for _, s := range h.Sessions {
			sure := slices.ContainsFunc(s.Ops, func(op history.Op) bool { return op.Outcome != history.Maybe })
			if s.Acquire.Outcome == history.Maybe && !sure {
				unknown = append(unknown, s.Name)
			}
		}
		if len(unknown) == 0 {
			return
		}
		dropped++
		name := rapid.SampledFrom(unknown).Draw(t, "dropped")
		events := slices.DeleteFunc(slices.Clone(h.Events), func(e history.Event) bool { return e.Session == name })
		// A pause without an end lasts until the end of the history, so the history must keep its end.
		events = append(events, history.Event{Process: history.Probe, Type: history.Info, F: history.FProbe, Time: h.Events[len(h.Events)-1].Time})
		for i := range events {
			events[i].Index = i
		}
		other := build(t, h.Header, events)
		before, after := alone(Exclusion, h, Options{}), alone(Exclusion, other, Options{})
		if before.Verdict != after.Verdict || before.Violations != after.Violations || before.Worst() != after.Worst() {
			t.Fatalf("exclusion: %s with %d became %s with %d without session %s\n%s", before.Verdict, before.Violations, after.Verdict, after.Violations, name, lines(h))
		}
		before, after = alone(Results, h, Options{}), alone(Results, other, Options{})
		if before.Verdict == Violated && after.Verdict != Violated {
			t.Fatalf("results: violated became %s without session %s, which may never have been\n%s", after.Verdict, name, lines(h))
		}
	})
	if dropped < 100 {
		t.Errorf("only %d histories had something to drop", dropped)
	}
}

// alike compares the results of a checker for two histories, except for texts and positions.
func alike(t *rapid.T, name string, a, b *history.History) {
	t.Helper()
	x, y := alone(name, a, Options{}), alone(name, b, Options{})
	if x.Verdict != y.Verdict || x.Violations != y.Violations || x.Worst() != y.Worst() || x.LostUpdates != y.LostUpdates {
		t.Fatalf("%s: %s %s with %d became %s %s with %d\n%s", name, x.Verdict, x.Worst(), x.Violations, y.Verdict, y.Worst(), y.Violations, lines(a))
	}
}
