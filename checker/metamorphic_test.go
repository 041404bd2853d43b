package checker

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockbench/internal/history"
)

// What is true of two locks is true of each: histories of different keys, put into one,
// are judged as the two are, whichever way they are shuffled together.
func TestMerging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := withoutClocks(t, random(t)), withoutClocks(t, random(t))
		b = changed(t, b, elsewhere)
		merged := merge(t, a, b)
		for _, c := range []Checker{Exclusion{}, Results{}} {
			one, two, both := c.Check(a, Options{}), c.Check(b, Options{}), c.Check(merged, Options{})
			want := max(one.Verdict, two.Verdict)
			if both.Verdict != want || both.Violations != one.Violations+two.Violations {
				t.Fatalf("%s: %s with %d and %s with %d, together %s with %d\n%s", c.Name(),
					one.Verdict, one.Violations, two.Verdict, two.Violations, both.Verdict, both.Violations, lines(merged))
			}
		}
	})
}

// withoutClocks leaves out what is about time or about all: leases that end, faults.
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
	if e.Extra != nil {
		x := *e.Extra
		x.Keys = slices.Clone(x.Keys)
		for i := range x.Keys {
			x.Keys[i] = "other " + x.Keys[i]
		}
		e.Extra = &x
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
