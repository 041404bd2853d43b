package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/history/jepsen"
)

// Report is the result of all checks of a history.
type Report struct {
	Verdict Verdict  `json:"verdict"`        // the worst of the checks
	Class   Class    `json:"class,omitzero"` // the worst among all findings
	Checks  []Result `json:"checks"`
	Release Release  `json:"-"` // the meaning of a failed release that the checks used
}

// Judge runs all checks on a history. It is a pure function: it returns the same report for the
// same history on every machine.
func Judge(h *history.History, o Options) Report {
	return judge(h, o, Checks())
}

func judge(h *history.History, o Options, checks []Check) Report {
	l, broken := read(h, o)
	said := Report{Release: o.Release}
	for _, c := range checks {
		r := Result{Verdict: Unknown, Why: broken}
		if broken == "" {
			r = run(c, l, said)
		}
		r.Name = c.Name
		said.add(r)
	}
	for _, r := range said.Checks {
		for i := range r.Findings {
			f := &r.Findings[i]
			f.Event = h.Events[f.Event].Index
			for j, pos := range f.Events {
				f.Events[j] = h.Events[pos].Index
			}
		}
	}
	return said
}

// read makes the ledger. If that panics, no check can judge.
func read(h *history.History, o Options) (l *ledger, broken string) {
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Sprintf("the history cannot be read: %v", p)
		}
	}()
	return newLedger(h, o), ""
}

// run runs one check. If the check panics, its verdict is unknown.
func run(c Check, l *ledger, said Report) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{Verdict: Unknown, Why: fmt.Sprintf("checker broke: %v", p)}
		}
	}()
	return c.judge(l, said)
}

// add adds the result of another check.
func (r *Report) add(c Result) {
	r.Checks = append(r.Checks, c)
	r.Verdict = max(r.Verdict, c.Verdict)
	r.Class = max(r.Class, c.Worst())
}

// Apart returns the rules of a check's findings that report a different defect than the class of
// the verdict. A client that is granted a held lock evicts the holder, so "evicted" next to a
// double grant reports the same defect.
func (r Result) Apart(of Class) []string {
	var rules []string
	for _, f := range r.Findings {
		rule, _ := ruleNamed(f.Rule)
		same := rule.Exclusion || of == DoubleGrant && f.Rule == ruleEvicted
		if !same && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

// Check returns the result of the check with that name.
func (r Report) Check(name string) (Result, bool) {
	for _, c := range r.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return Result{}, false
}

// First returns the earliest finding of the worst class.
func (r Report) First() (Finding, bool) {
	var first Finding
	found := false
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if !found || f.Class > first.Class || f.Class == first.Class && f.Event < first.Event {
				first, found = f, true
			}
		}
	}
	return first, found
}

// Why explains why checks could not decide. It is empty if all of them could.
func (r Report) Why() string {
	return r.reasons(func(c Result) string {
		if c.Verdict != Unknown {
			return ""
		}
		return c.Why
	})
}

// Broken describes how the history contradicts itself. If it is not empty, the harness is at fault,
// and there is no verdict on the lock.
func (r Report) Broken() string {
	return r.reasons(func(c Result) string { return c.Broken })
}

// reasons joins the texts of the checks.
func (r Report) reasons(of func(Result) string) string {
	var all []string
	for _, c := range r.Checks {
		if why := of(c); why != "" {
			all = append(all, c.Name+": "+why)
		}
	}
	return strings.Join(all, "; ")
}

// violated returns the result of a check with its findings in the order of events.
func violated(findings []Finding) Result {
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := Result{Violations: len(findings), Findings: findings}
	if len(findings) > 0 {
		r.Verdict = Violated
	}
	return r
}

// Strays adds a check of releases that were answered with ok although their process held nothing.
// A lock with owners must not give that answer.
func Strays(r Report, strays []jepsen.Stray) Report {
	if len(strays) == 0 {
		return r
	}
	var findings []Finding
	for _, s := range strays {
		findings = append(findings, Finding{
			Rule: "released-without-holding", Events: []int{s.Index}, Event: s.Index,
			Text: fmt.Sprintf("process %d released and was answered ok (line %d), but held nothing", s.Process, s.Line),
		})
	}
	stray := violated(findings)
	stray.Name = "releases"
	r.Checks = slices.Clip(r.Checks)
	r.add(stray)
	return r
}
