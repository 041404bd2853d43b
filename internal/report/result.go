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
	Schema     int    `json:"schema"`
	Scenario   string `json:"scenario"`
	About      string `json:"about,omitempty"` // what the scenario says of itself
	World      string `json:"world"`
	WorldAbout string `json:"world_about,omitempty"` // what it has found: "redis-server 7.0.15"
	// WorldCaveat is what cannot be seen in that world, ServersCaveat what the settings of
	// the servers do to the figures. Both are sentences for reports.
	WorldCaveat   string `json:"world_caveat,omitempty"`
	ServersCaveat string `json:"servers_caveat,omitempty"`
	// Virtual says that the world's time is virtual: Again gives the same history.
	Virtual bool   `json:"virtual_time,omitempty"`
	Seed    uint64 `json:"seed"`
	// Plan is what was meant to happen, all episodes; what a step could not mean for
	// one lock stands in that lock's own Plan.
	Plan      []history.PlanStep `json:"plan"`
	Started   time.Time          `json:"started,omitzero"`
	DurationS float64            `json:"duration_s"`
	// AsExpected is true if every lock that ran is.
	AsExpected bool `json:"as_expected"`
	// Interrupted says that the run was stopped early and what was recorded by then was judged.
	Interrupted bool `json:"interrupted,omitempty"`
	// Again is the command that does the same run once more.
	Again string `json:"again,omitempty"`
	// Program is the lockbench that ran, and Machine what it ran on.
	Program string `json:"program,omitempty"`
	Machine string `json:"machine,omitempty"`
	Locks   []Lock `json:"locks"`
}

// Lock is what one run found out about one lock.
type Lock struct {
	Lock     string            `json:"lock"` // the name with its options: redlock/nodes=3
	Options  map[string]string `json:"options"`
	Topology locks.Topology    `json:"topology"`
	// Servers is the topology in the few words of a table: "control", "replicated 1+2".
	Servers string       `json:"servers,omitempty"`
	Claims  locks.Claims `json:"claims,omitzero"`

	Verdict checker.Verdict `json:"verdict"`
	Class   checker.Class   `json:"class,omitzero"` // the worst one found
	Why     string          `json:"why,omitempty"`  // of unknown
	// Expected is the scenario's own words: "violated double-grant", "valid", "unjudged".
	Expected   string `json:"expected"`
	AsExpected bool   `json:"as_expected"`
	// Mismatch says what was not as expected, if the verdict alone does not:
	// "rate 20 % lies below the expected 60 %".
	Mismatch string `json:"mismatch,omitempty"`
	// Like is a known lock that does here what this lock of a user's own did, where that was
	// not expected: the scenario names only locks that it knows.
	Like string `json:"like,omitempty"`
	// Unsupported says why this lock could not take part here. Nothing was tried, so
	// the verdict of such a lock is unknown and its figures are empty.
	Unsupported string `json:"unsupported,omitempty"`
	// Named says that somebody asked for this very lock.
	Named bool `json:"named,omitempty"`
	// Wrong says that the lock is wrong on purpose, to show that its mistake is found.
	Wrong bool `json:"wrong_on_purpose,omitempty"`
	// Error is a failure of the harness while it ran this lock: no verdict stands on
	// what it left behind.
	Error string `json:"error,omitempty"`
	// Notes say what the lock's clients did wrong that no history tells: noise on a guest's
	// standard output, crashes, connections that faults cannot reach.
	Notes []string `json:"notes,omitempty"`

	stats.Figures

	// Plan is the part of the plan as it concerned this lock, with its n/a reasons.
	Plan []history.PlanStep `json:"plan,omitempty"`
	// Faults are the steps of the plan that were injected.
	Faults []FaultTimes     `json:"faults,omitempty"`
	Checks []checker.Result `json:"checks"`

	// Counterexample shows the violation of FirstFinding, if the lock is violated.
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
