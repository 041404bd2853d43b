// Package report is what people and programs read of a run: the table on the
// terminal, the story of a violation, result.json, summary.md and junit.xml, and
// the folder in which they lie.
//
// Everything here is a function of two things: the history of each lock and what
// the judge said of it. [NewLock] turns those into a [Lock], a [Result] collects
// the locks of one run, and the rest of the package shows a Result: [Screen] to a
// person at a terminal, [Summary] to a person who reads a merge request, [JUnit]
// to a build server. A [Counterexample] shows one violation in at most twelve lines. A
// [Bundle] is where it all goes.
//
// Nothing here decides a verdict. A report that could make a verdict better or
// worse would be one more thing to distrust.
package report

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// SchemaVersion is the schema of result.json that this package writes and reads.
// Fields are added to it, never renamed or taken away, so a reader of schema 1
// goes on working.
const SchemaVersion = 1

// FindingsMax is how many findings of one check result.json keeps. No-lock under
// load finds tens of thousands of the same thing; the count stands in violations,
// and the history has them all.
const FindingsMax = 50

// Result is result.json: one run, all its locks.
type Result struct {
	Schema        int                `json:"schema"`                   // 1
	Scenario      string             `json:"scenario"`                 // the name of the scenario
	About         string             `json:"about,omitempty"`          // the description in the scenario
	World         string             `json:"world"`                    // local, docker, sim or external
	WorldAbout    string             `json:"world_about,omitempty"`    // the servers that the world found: "redis-server 7.0.15"
	WorldCaveat   string             `json:"world_caveat,omitempty"`   // a sentence: the faults and effects that cannot be seen in that world
	ServersCaveat string             `json:"servers_caveat,omitempty"` // a sentence: how the settings of the servers change the figures
	Virtual       bool               `json:"virtual_time,omitempty"`   // the time was virtual, so the command in again gives the same history
	Seed          uint64             `json:"seed"`                     // the seed of the run
	Plan          []history.PlanStep `json:"plan"`                     // the planned faults of all episodes; each lock has its own, too
	Started       time.Time          `json:"started,omitzero"`         // the beginning of the run
	DurationS     float64            `json:"duration_s"`               // the length of the run, in seconds
	AsExpected    bool               `json:"as_expected"`              // every lock that ran had the expected verdict
	Interrupted   bool               `json:"interrupted,omitempty"`    // the run was stopped early, and what was recorded by then was judged
	Again         string             `json:"again,omitempty"`          // the command that repeats the run
	Program       string             `json:"program,omitempty"`        // the version of lockbench
	Machine       string             `json:"machine,omitempty"`        // the machine that it ran on
	Locks         []Lock             `json:"locks"`                    // the results of each lock
}

// Lock is what one run found out about one lock.
type Lock struct {
	Lock     string            `json:"lock"`              // the name with its options: redlock/nodes=3
	Options  map[string]string `json:"options"`           // the options by name
	Topology locks.Topology    `json:"topology"`          // how its servers are joined
	Servers  string            `json:"servers,omitempty"` // the same in few words: "control", "replicated 1+2"
	Claims   locks.Claims      `json:"claims,omitzero"`   // the capabilities of the lock

	Verdict     checker.Verdict `json:"verdict"`                    // valid, violated or unknown
	Class       checker.Class   `json:"class,omitzero"`             // the worst class that was found
	Why         string          `json:"why,omitempty"`              // the reason for unknown
	Expected    string          `json:"expected"`                   // as in the scenario: "violated double-grant", "valid", "unjudged"
	AsExpected  bool            `json:"as_expected"`                // the verdict and all figures are as expected
	Mismatch    string          `json:"mismatch,omitempty"`         // the difference: "rate 20 % lies below the expected 60 %"
	Like        string          `json:"like,omitempty"`             // a known lock that is expected to do what this lock of a user did
	Unsupported string          `json:"unsupported,omitempty"`      // why the lock took no part: the verdict is unknown, and there are no figures
	Named       bool            `json:"named,omitempty"`            // the lock was named on the command line
	Wrong       bool            `json:"wrong_on_purpose,omitempty"` // the lock is a mutant
	Error       string          `json:"error,omitempty"`            // a failure of the harness with this lock, so that there is no verdict
	// Notes has mistakes of the clients that are not in the history: noise on a guest's standard
	// output, crashes, connections that faults cannot reach.
	Notes []string `json:"notes,omitempty"`

	stats.Figures

	Plan   []history.PlanStep `json:"plan,omitempty"`   // the plan as it concerned this lock, with the reasons for n/a
	Faults []FaultTimes       `json:"faults,omitempty"` // the steps of the plan that were injected
	Checks []checker.Result   `json:"checks"`           // the result of each check

	// Counterexample is the first violation, step by step.
	Counterexample *Counterexample `json:"counterexample,omitempty"`
}

// UnmarshalJSON computes each rate from its counts, so that results of an earlier lockbench,
// which had approximate bounds, show the same bounds as new ones.
func (r *Result) UnmarshalJSON(text []byte) error {
	type plain Result
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return err
	}
	for i := range r.Locks {
		r.Locks[i].Rate = stats.RateOf(r.Locks[i].Counted())
	}
	return nil
}

// NewLock is the entry of one lock, from its history and the judge's report. Left
// for the caller to fill in: Options, Servers, Expected, AsExpected, Mismatch.
func NewLock(h *history.History, judged checker.Report) Lock {
	why := ""
	if judged.Verdict == checker.Unknown {
		why = judged.Why()
	}
	l := Lock{
		Lock:     h.Header.Lock,
		Options:  map[string]string{},
		Topology: locks.Topology(h.Header.Topology),
		Claims:   h.Header.Claims,
		Verdict:  judged.Verdict,
		Class:    judged.Class,
		Why:      why,
		Error:    judged.Broken(),
		Figures:  stats.Measure(h, judged.Checks),
		Plan:     h.Header.Plan,
		Faults:   faultTimes(h),
		Checks:   cutFindings(judged.Checks),
	}
	if f, found := l.FirstFinding(); found && l.Verdict == checker.Violated {
		l.Counterexample = NewCounterexample(h, f)
	}
	return l
}

// Title is the lock's name as people see it: of one that is wrong on purpose it says so.
func (l *Lock) Title() string {
	if l.Wrong {
		return l.Lock + " (wrong on purpose)"
	}
	return l.Lock
}

// Control says whether the lock needs no server: it is there to show that the
// harness sees (no-lock) and does not see ghosts (in-process, flock).
func (l *Lock) Control() bool { return l.Topology == locks.None || l.Servers == "control" }

// FirstFinding is the violation worth telling of this lock: the first one of its
// worst class, or, if no class applies, the first of all.
func (l *Lock) FirstFinding() (checker.Finding, bool) {
	var first checker.Finding
	found := false
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			if f.Class == l.Class && (!found || f.Event < first.Event) {
				first, found = f, true
			}
		}
	}
	if found || l.Class == checker.NoClass {
		return first, found
	}
	// The class stands on a finding that result.json has cut away, or on none: any
	// evidence is better than silence.
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			if !found || f.Event < first.Event {
				first, found = f, true
			}
		}
	}
	return first, found
}

// Check is what the checker of that name said.
func (l *Lock) Check(name string) (checker.Result, bool) {
	for _, c := range l.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return checker.Result{}, false
}

// Found is verdict and class in the words of an expectation: "violated overstay".
func (l *Lock) Found() string {
	return strings.TrimSpace(l.Verdict.String() + " " + l.Class.String())
}

// Of is what came out of a lock; nil if it is none of this run.
func (r *Result) Of(lock string) *Lock {
	i := slices.IndexFunc(r.Locks, func(l Lock) bool { return l.Lock == lock })
	if i < 0 {
		return nil
	}
	return &r.Locks[i]
}

// FirstViolation picks the lock whose violation the screen tells: of the worst
// class, and of those the one that broke first. What a control does as expected is
// no news.
func (r *Result) FirstViolation() (*Lock, checker.Finding, bool) {
	var best *Lock
	var told checker.Finding
	for i := range r.Locks {
		l := &r.Locks[i]
		if l.Verdict != checker.Violated || l.Error != "" || l.Control() && l.AsExpected {
			continue
		}
		f, ok := l.FirstFinding()
		if !ok {
			continue
		}
		if best == nil || l.Class > best.Class || l.Class == best.Class && seconds(l.FirstViolationS) < seconds(best.FirstViolationS) {
			best, told = l, f
		}
	}
	return best, told, best != nil
}

// The exit codes of all commands. The README has the table.
const (
	ExitExpected   = 0
	ExitUnexpected = 1
	ExitUnknown    = 2
	ExitHarness    = 3
	ExitUsage      = 64
)

// Outcome is what an exit code means to a reader.
type Outcome struct {
	Words string
	Many  string // the same of a campaign
	Key   string // its colour on a page: good, bad, unsure
	paint paint
	// weight orders the outcomes: a failure of the harness outweighs an unexpected verdict,
	// and that one outweighs a verdict that could not be reached.
	weight int
}

// Outcomes are those of all exit codes.
var Outcomes = [...]Outcome{
	ExitExpected:   {"as expected", "as expected", "good", noPaint, 0},
	ExitUnexpected: {"not as expected", "not as expected", "bad", red, 2},
	ExitUnknown:    {"undecided", "undecided or not run", "unsure", yellow, 1},
	ExitHarness:    {"the harness failed", "the harness failed", "bad", red, 3},
}

// Worst is the exit code of the heaviest outcome.
func Worst(codes ...int) int {
	return slices.MaxFunc(codes, func(a, b int) int { return Outcomes[a].weight - Outcomes[b].weight })
}

// ExitCode is what a process that did this run should end with. Of several, a
// failure of the harness weighs more than an unexpected verdict, and that more
// than one which could not be reached. A lock that somebody asked for and that took
// no part is such a one: nothing was tested. So is a run that was stopped early.
func (r *Result) ExitCode() int {
	var unexpected, unknown bool
	for i := range r.Locks {
		switch l := &r.Locks[i]; {
		case l.Error != "":
			return ExitHarness
		case l.untested():
			unknown = true
		case l.Unsupported != "" || l.AsExpected:
		case l.Verdict == checker.Unknown:
			unknown = true
		default:
			unexpected = true
		}
	}
	switch {
	case unexpected:
		return ExitUnexpected
	case unknown, r.Interrupted:
		return ExitUnknown
	case !r.ranAny():
		// A run in which no lock took part shows nothing, and must not look like one
		// in which nothing was wrong.
		return ExitUnknown
	}
	return ExitExpected
}

// untested tells whether somebody asked for the lock and it took no part.
func (l *Lock) untested() bool { return l.Named && l.Unsupported != "" }

func (r *Result) ranAny() bool {
	for i := range r.Locks {
		if r.Locks[i].Unsupported == "" {
			return true
		}
	}
	return false
}

// cutFindings keeps the first findings of each check and the count of all.
func cutFindings(checks []checker.Result) []checker.Result {
	cut := make([]checker.Result, len(checks))
	for i, c := range checks {
		c.Violations = max(c.Violations, len(c.Findings))
		if len(c.Findings) > FindingsMax {
			c.Findings = keepFirst(c.Findings, c.Worst())
		}
		cut[i] = c
	}
	return cut
}

// keepFirst keeps the first FindingsMax findings, in order, but makes sure that the
// first one of the worst class is among them: one double-grant after fifty overstays
// is the news.
func keepFirst(all []checker.Finding, worst checker.Class) []checker.Finding {
	kept := append([]checker.Finding(nil), all[:FindingsMax]...)
	for i, f := range all {
		if f.Class != worst {
			continue
		}
		if i >= FindingsMax {
			kept[FindingsMax-1] = f
		}
		break
	}
	return kept
}

func seconds(s *float64) float64 {
	if s == nil {
		return 0
	}
	return *s
}
