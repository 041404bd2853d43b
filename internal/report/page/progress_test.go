package page

import (
	"fmt"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/report"
)

// The drawing of a run in progress has no gap where the lock was held without a break, however many clients take turns.
func TestDrawSoFarHasNoGap(t *testing.T) {
	for _, c := range []struct{ hold, length time.Duration }{
		{20 * time.Millisecond, 5 * time.Second},
		{10 * time.Millisecond, 30 * time.Second},
		{time.Millisecond, 30 * time.Second},
	} {
		s := &events{}
		session := 0
		for at := time.Duration(0); at < c.length; at += c.hold {
			session++
			client, name, ms := session%3, fmt.Sprint(session), int(at/time.Millisecond)
			key := func(e *history.Event) { e.Key = "a" }
			s.client(ms, client, history.Invoke, history.Acquire, name, key)
			s.client(ms, client, history.OK, history.Acquire, name)
			s.client(ms+int(c.hold/time.Millisecond), client, history.Invoke, history.Release, name)
			s.client(ms+int(c.hold/time.Millisecond), client, history.OK, history.Release, name)
		}
		h, err := history.Build(history.Header{Lock: "set-nx", Topology: "single"}, s.all)
		if err != nil {
			t.Fatal(err)
		}
		l := Draw(&report.Lock{Lock: "set-nx"}, h, 1, true)
		end := h.Events[len(h.Events)-1].Time
		if want := max(0, end-recently); l.Timeline.From != want || l.Timeline.To < end {
			t.Errorf("held for %v each: drawn from %v to %v, want %v to %v", c.hold, l.Timeline.From, l.Timeline.To, want, end)
		}
		bars := 0
		var held []bar
		for _, lane := range l.Timeline.Lanes {
			bars += len(lane.Bars)
			for _, b := range lane.Bars {
				if b.Kind == "held" {
					held = append(held, b)
				}
			}
		}
		covered := l.Timeline.From
		for _, b := range join(held, 2*c.hold) {
			if b.from > covered+2*c.hold {
				t.Errorf("held for %v each: nothing is drawn from %v to %v", c.hold, covered, b.from)
			}
			covered = max(covered, b.to)
		}
		if covered < end-2*c.hold || bars > barsMost {
			t.Errorf("held for %v each: drawn until %v of %v with %d bars", c.hold, covered, end, bars)
		}
	}
}
