package site

import (
	"fmt"
	"testing"
	"time"

	"lockbench/internal/history"
)

// TestLanesAreDrawnWhereHoldsWere lets three clients hold a key in turn, without a break. The
// drawing must not have a gap, however often the key changes hands.
func TestLanesAreDrawnWhereHoldsWere(t *testing.T) {
	for _, c := range []struct {
		hold time.Duration
		to   time.Duration
		want time.Duration // the length of the window
	}{
		{20 * time.Millisecond, 5 * time.Second, windowLength},
		{10 * time.Millisecond, 30 * time.Second, windowLength},
		{time.Millisecond, 30 * time.Second, holdsMost * time.Millisecond},
	} {
		course := &course{open: map[string]held{}}
		session := 0
		for at := time.Duration(0); at < c.to; at += c.hold {
			session++
			e := history.Event{Client: int32(session % 3), F: history.Acquire, Session: fmt.Sprint(session), Key: "a"}
			for _, step := range []struct {
				kind  history.Type
				f     string
				after time.Duration
			}{{history.Invoke, history.Acquire, 1}, {history.OK, history.Acquire, 1}, {history.Invoke, history.Release, c.hold}} {
				e.Type, e.F, e.Time = step.kind, step.f, at+step.after
				course.add(&e)
			}
			if session%50 == 0 {
				course.forget()
			}
		}
		course.forget()
		d := course.drawn("set-nx")
		if got := d.To - d.From; got < c.want.Seconds()-0.1 || got > c.want.Seconds()+0.1 {
			t.Errorf("held for %v each: drawn are %.3f s, want %v", c.hold, got, c.want)
		}
		covered := d.From
		for _, h := range d.Holds {
			if h.From > covered+2*c.hold.Seconds() {
				t.Errorf("held for %v each: nothing is drawn from %.3f s to %.3f s", c.hold, covered, h.From)
			}
			covered = max(covered, h.To)
		}
		if end := course.at.Seconds(); covered < end-2*c.hold.Seconds() {
			t.Errorf("held for %v each: nothing is drawn from %.3f s to the end, %.3f s", c.hold, covered, end)
		}
	}
}
