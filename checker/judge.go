package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// Report is what all checkers together say of a history.
type Report struct {
	Verdict Verdict  `json:"verdict"`        // the worst of the checks
	Class   Class    `json:"class,omitzero"` // the worst among all findings
	Checks  []Result `json:"checks"`
}

// All returns the checkers, in the order in which their results are told. To add
// one, write it in a file of its own and name it here.
func All() []Checker {
	return []Checker{
		Harness{},
		Exclusion{},
		Results{},
		Resource{},
		Fencing{},
		Liveness{},
		Fairness{},
		Lease{},
		Rate{},
		Linearizable{},
	}
}

// Witness is a checker that asks what exclusion asks, from what else the history tells.
// What it finds is no further broken promise.
type Witness interface {
	Checker
	witness()
}

// Apart are the rules of a checker's findings that tell of another broken promise than a
// violation of the class does. Findings with a class, and those of witnesses, tell of
// exclusion. And whoever is granted a lock that is held evicts the holder: where a double
// grant is told, "evicted" says it again from the other side.
func (r Result) Apart(told Class) []string {
	var rules []string
	for _, f := range r.Findings {
		same := f.Class != NoClass || told == DoubleGrant && f.Rule == ruleEvicted
		if !same && !slices.Contains(rules, f.Rule) && !isWitness(r.Name) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

func isWitness(name string) bool {
	return slices.ContainsFunc(All(), func(c Checker) bool {
		_, is := c.(Witness)
		return is && c.Name() == name
	})
}

// Judge runs all checkers over a history. It is a pure function, so a history that
// is judged again, elsewhere and later, gets the same report.
func Judge(h *history.History, o Options) Report {
	return judge(h, o, All())
}

func judge(h *history.History, o Options, checkers []Checker) Report {
	o.ledger = read(h, o)
	results := make([]Result, len(checkers))
	var first []Result
	for i, c := range checkers {
		if _, waits := c.(Later); !waits {
			results[i] = check(c, h, o)
			first = append(first, results[i])
		}
	}
	said := compose(first)
	for i, c := range checkers {
		if c, waits := c.(Later); waits {
			results[i] = check(c.After(said), h, o)
		}
	}
	return compose(results)
}

// read makes the ledger, once for all checkers. If that breaks, each of them breaks by
// itself and says so.
func read(h *history.History, o Options) (l *ledger) {
	defer func() { _ = recover() }()
	return newLedger(h, o)
}

// compose takes the worst of the parts.
func compose(results []Result) Report {
	r := Report{Checks: results}
	for _, c := range results {
		r.Verdict = max(r.Verdict, c.Verdict)
		r.Class = max(r.Class, c.Worst())
	}
	return r
}

// check runs one checker. A checker that panics has not judged: its verdict is
// unknown, never a pass.
func check(c Checker, h *history.History, o Options) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{Name: c.Name(), Verdict: Unknown, Why: fmt.Sprintf("checker broke: %v", p)}
		}
	}()
	if h.Header.Model.Has(history.Semaphore) && c.Name() != (Exclusion{}).Name() && c.Name() != (Harness{}).Name() {
		return Result{Name: c.Name(), Note: "not judged: of a semaphore exclusion looks for too many permits, and nothing else is judged"}
	}
	return c.Check(h, o)
}

// Check returns the result of the checker with that name.
func (r Report) Check(name string) (Result, bool) {
	for _, c := range r.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return Result{}, false
}

// First returns the finding to tell first: the earliest one of the worst class.
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

// Why says in words what could not be decided, and nothing if all could.
func (r Report) Why() string {
	var why []string
	for _, c := range r.Checks {
		if c.Verdict == Unknown {
			why = append(why, c.Name+": "+c.Why)
		}
	}
	return strings.Join(why, "; ")
}

// Broken says how the history contradicts itself, or nothing. Then the harness is
// at fault, and no verdict on the lock stands.
func (r Report) Broken() string {
	var broken []string
	for _, c := range r.Checks {
		if c.Broken != "" {
			broken = append(broken, c.Name+": "+c.Broken)
		}
	}
	return strings.Join(broken, "; ")
}

// violated makes the result of a checker out of what it found.
func violated(name string, findings []Finding) Result {
	r := Result{Name: name, Violations: len(findings), Findings: findings}
	if len(findings) > 0 {
		r.Verdict = Violated
	}
	return r
}
