package search

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/scenarios"
)

// outcome is the part of a judged history that a search needs.
type outcome struct {
	Verdict  string
	Class    string
	Why      string // why the verdict is unknown
	Sum      string // of the history
	Bites    int    // how many steps took effect
	Calls    int    // how many calls clients made
	Checks   map[string]scenarios.Judgement
	Finding  checker.Finding // the first of the worst class
	Involved []involved      // the sessions of the finding
	// After are the events of their clients after the last grant.
	After []moment
}

// moment is an event of a client.
type moment struct {
	Client int
	At     time.Duration
	Event  int
}

// involved is a session that a finding is about.
type involved struct {
	Client int
	Asked  time.Duration // the time of the request
	At     time.Duration // the time of the grant
}

// judge reads and judges a history, whose checksum is sum.
func judge(path, sum string) (*outcome, error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return judgeHistory(h, sum)
}

// judgeHistory judges a history, whose checksum is sum.
func judgeHistory(h *history.History, sum string) (*outcome, error) {
	judged := checker.Judge(h, checker.Options{})
	if broken := judged.Broken(); broken != "" {
		return nil, fmt.Errorf("the history contradicts itself, so the harness is at fault: %s", broken)
	}
	l := report.NewLock(h, judged)
	out := &outcome{Verdict: l.Verdict.String(), Class: l.Class.String(), Sum: sum, Checks: map[string]scenarios.Judgement{}}
	if l.Verdict == checker.Unknown {
		out.Why = l.Why
	}
	for _, c := range judged.Checks {
		out.Checks[c.Name] = scenarios.JudgementOf(c.Verdict, c.Worst())
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

// momentsMax is how many events after a violation are candidates for the end of the trial.
const momentsMax = 20

// momentsAfter returns the events of the involved clients after the last grant.
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
