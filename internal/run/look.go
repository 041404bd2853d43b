package run

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// summary is what a history shows, in the few words that a search needs.
type summary struct {
	Verdict  string               `json:"verdict"`
	Class    string               `json:"class,omitempty"`
	Why      string               `json:"why,omitempty"`
	Sum      string               `json:"sum"`   // of the history
	Bites    int                  `json:"bites"` // steps that took effect
	Calls    int                  `json:"calls"` // that clients made
	Checks   map[string]judgement `json:"checks,omitempty"`
	Finding  checker.Finding      `json:"finding,omitzero"`   // the first of the worst class
	Involved []involved           `json:"involved,omitempty"` // whose sessions it is about
	// After are the next moments of their clients from the last grant on.
	After []moment `json:"after,omitempty"`
}

// moment is an event of a client's.
type moment struct {
	Client int           `json:"client"`
	At     time.Duration `json:"at_ns"`
	Event  int           `json:"event"`
}

// judgement is what one checker says.
type judgement struct {
	Verdict string `json:"verdict"`
	Class   string `json:"class,omitempty"`
}

// involved is a session that a finding is about.
type involved struct {
	Client int           `json:"client"`
	Asked  time.Duration `json:"asked_ns"`   // when it asked for the lock
	At     time.Duration `json:"granted_ns"` // when it got it
}

// lookAt judges a history in a few words.
func lookAt(path string) (*summary, error) {
	sum, err := historySum(path)
	if err != nil {
		return nil, err
	}
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, err
	}
	judged := checker.Judge(h, checker.Options{})
	if broken := judged.Broken(); broken != "" {
		return nil, fmt.Errorf("the history contradicts itself, so the harness is at fault: %s", broken)
	}
	l := report.NewLock(h, judged)
	s := &summary{Verdict: l.Verdict.String(), Class: l.Class.String(), Why: l.Why, Sum: sum, Checks: map[string]judgement{}}
	for _, c := range judged.Checks {
		s.Checks[c.Name] = judgement{c.Verdict.String(), c.Worst().String()}
	}
	for _, f := range h.Faults() {
		if f.Bites >= 0 {
			s.Bites++
		}
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Process >= 0 && e.Type == history.Invoke && e.Client < 1<<30 {
			s.Calls++
		}
	}
	f, found := l.FirstFinding()
	if !found || l.Verdict != checker.Violated {
		return s, nil
	}
	s.Finding = f
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
		s.Involved = append(s.Involved, in)
	}
	s.After = momentsAfter(h, s.Involved)
	return s, nil
}

// momentsMax is how many moments after a violation are looked at as places to cut.
const momentsMax = 20

// momentsAfter are what the clients concerned do from the last grant on.
func momentsAfter(h *history.History, all []involved) []moment {
	var last time.Duration
	for _, in := range all {
		last = max(last, in.At)
	}
	var out []moment
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process < 0 || e.Time < last || !slices.ContainsFunc(all, func(in involved) bool { return in.Client == int(e.Client) }) {
			continue
		}
		if out = append(out, moment{int(e.Client), e.Time, e.Index}); len(out) == momentsMax {
			break
		}
	}
	return out
}
