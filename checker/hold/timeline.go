package hold

import (
	"sort"
	"time"

	"lockbench/internal/history"
)

// timeline maps the positions of a history to times, and times to positions.
type timeline struct {
	History *history.History
	Stepped int // position from which times are unreliable, because the machine's clocks moved against each other; or a position past the end
}

// After returns the position of the first event later than a time.
func (t *timeline) After(at time.Duration) int {
	events := t.History.Events
	return sort.Search(len(events), func(i int) bool { return events[i].Time > at })
}

// end returns the position after the last event.
func (t *timeline) end() int { return len(t.History.Events) }

// time returns the time of a position. The end has the time of the last event.
func (t *timeline) time(pos int) time.Duration {
	if pos >= len(t.History.Events) {
		pos = len(t.History.Events) - 1
	}
	return t.History.Events[pos].Time
}

// upToTime returns the part of a span before a time.
func (t *timeline) upToTime(at time.Duration) Span { return Span{To: t.After(at), until: at} }

// runsOut returns the position from which a lease may be over that ends at a time.
func (t *timeline) runsOut(at time.Duration) int {
	if at == Never {
		return t.end()
	}
	return min(t.After(at-Slack), t.Stepped)
}

// signed returns the interval up to the last sign of a session, which is the certain part.
func (t *timeline) signed(d *Hold) Span { return Span{To: d.Sign + 1, until: t.time(max(d.Sign, 0))} }

// NotHeld reports whether an operation was answered "not held".
func (t *timeline) NotHeld(op history.Op) bool {
	return op.Outcome == history.Failed && t.History.At(op.Return).Error == history.ErrorNotHeld
}
