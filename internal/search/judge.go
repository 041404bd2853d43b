package search

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// outcome is what the history of one trial shows, in the few words that a search needs.
type outcome struct {
	Verdict  string
	Class    string
	Why      string // why it is unknown
	Sum      string // of the history
	Bites    int    // steps that took effect
	Calls    int    // that clients made
	Checks   map[string]judgement
	Finding  checker.Finding // the first of the worst class
	Involved []involved      // whose sessions it is about
	// After are the next moments of their clients from the last grant on.
	After []moment
}

// moment is an event of a client's.
type moment struct {
	Client int
	At     time.Duration
	Event  int
}

// judgement is what one checker says.
type judgement struct {
	Verdict string `json:"verdict"`
	Class   string `json:"class,omitempty"`
}

// involved is a session that a finding is about.
type involved struct {
	Client int
	Asked  time.Duration // when it asked for the lock
	At     time.Duration // when it got it
}

// judge judges a history, whose sum is known, in a few words.
func judge(path, sum string) (*outcome, error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, err
	}
	judged := checker.Judge(h, checker.Options{})
	if broken := judged.Broken(); broken != "" {
		return nil, fmt.Errorf("the history contradicts itself, so the harness is at fault: %s", broken)
	}
	l := report.NewLock(h, judged)
	out := &outcome{Verdict: l.Verdict.String(), Class: l.Class.String(), Sum: sum, Checks: map[string]judgement{}}
	if l.Verdict == checker.Unknown {
		out.Why = l.Why
	}
	for _, c := range judged.Checks {
		out.Checks[c.Name] = judgement{c.Verdict.String(), c.Worst().String()}
	}
	for _, f := range h.Faults {
		if f.Bites >= 0 {
			out.Bites++
		}
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Process >= 0 && e.Type == history.Invoke && e.Client < 1<<30 {
			out.Calls++
		}
	}
	f, found := l.FirstFinding()
	if !found || l.Verdict != checker.Violated {
		return out, nil
	}
	out.Finding = f
	for _, session := range h.Sessions {
		if !slices.Contains(f.Sessions, session.Name) {
			continue
		}
		in := involved{Client: int(session.Client)}
		if e := h.At(session.Acquire.Invoke); e != nil {
			in.Asked = e.Time
		}
		if e := h.At(session.Acquire.Return); e != nil {
			in.At = e.Time
		}
		out.Involved = append(out.Involved, in)
	}
	out.After = momentsAfter(h, out.Involved)
	return out, nil
}

// momentsMax is how many moments after a violation are looked at as places to cut.
const momentsMax = 20

// momentsAfter are what the clients concerned do from the last grant on.
func momentsAfter(h *history.History, all []involved) []moment {
	var last time.Duration
	for _, in := range all {
		last = max(last, in.At)
	}
	var next []moment
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process < 0 || e.Time < last || !slices.ContainsFunc(all, func(in involved) bool { return in.Client == int(e.Client) }) {
			continue
		}
		if next = append(next, moment{int(e.Client), e.Time, e.Index}); len(next) == momentsMax {
			break
		}
	}
	return next
}
