// Package report writes the results of a run: the table on the terminal, result.json, summary.md, junit.xml, and the
// folder with these files.
//
// [NewLock] makes a [Lock] from a history and the judge's report on it, and a [Result] has the locks of one run.
// [Screen], [Summary] and [JUnit] render a Result for a terminal, a merge request and a build server. A
// [Counterexample] shows one violation in at most twelve lines. A [Bundle] is the folder.
//
// Nothing here decides a verdict.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// SchemaVersion is the schema of result.json. Fields may be added to a schema, but not renamed or removed.
const SchemaVersion = 1

// FindingsMax is how many findings of a check result.json has. The field violations counts all of them.
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
	FiguresOnly   bool               `json:"figures_only,omitempty"`   // the user kept the run without its histories; lockbench never sets it
	Locks         []Lock             `json:"locks"`                    // the results of each lock
}

// Lock is the result of one lock.
type Lock struct {
	Lock     string            `json:"lock"`              // the name with its options: redlock/nodes=3
	Options  map[string]string `json:"options"`           // the options by name
	Topology locks.Topology    `json:"topology"`          // how its servers are joined
	Servers  string            `json:"servers,omitempty"` // the same in few words: "control", "replicated 1+2"
	Claims   locks.Claims      `json:"claims,omitzero"`   // the capabilities of the lock

	Verdict     checker.Verdict `json:"verdict"`                    // valid, violated or unknown
	Class       checker.Class   `json:"class,omitzero"`             // the worst class that was found
	Release     checker.Release `json:"release,omitempty"`          // strict, if the history was judged with --release strict
	Why         string          `json:"why,omitempty"`              // the reason for unknown
	Expected    string          `json:"expected"`                   // as in the scenario: "violated double-grant", "valid", "unjudged"
	AsExpected  bool            `json:"as_expected"`                // the verdict and all figures are as expected
	Mismatch    string          `json:"mismatch,omitempty"`         // the difference: "rate 20 % lies below the expected 60 %"
	Like        string          `json:"like,omitempty"`             // a known lock that is expected to do what this lock of a user did
	Remedy      string          `json:"remedy,omitempty"`           // an option with which episodes would count, if none did
	Unsupported string          `json:"unsupported,omitempty"`      // why the lock took no part: the verdict is unknown, and there are no figures
	Named       bool            `json:"named,omitempty"`            // the lock was named on the command line
	Wrong       bool            `json:"wrong_on_purpose,omitempty"` // the lock is a mutant
	Error       string          `json:"error,omitempty"`            // a failure of the harness with this lock, so that there is no verdict
	// Notes has mistakes of the clients that no operation shows: noise on a guest's standard output, crashes, connections that faults cannot reach.
	Notes []string `json:"notes,omitempty"`

	stats.Figures

	Plan   []history.PlanStep `json:"plan,omitempty"`   // the plan as it concerned this lock, with the reasons for n/a
	Faults []FaultTimes       `json:"faults,omitempty"` // the steps of the plan that were injected
	Checks []checker.Result   `json:"checks"`           // the result of each check

	// Counterexample is the first violation, step by step.
	Counterexample *Counterexample `json:"counterexample,omitempty"`
}

// TakeHeader sets the properties of the run that the history of one of its locks has.
func (r *Result) TakeHeader(h *history.History) {
	r.Scenario, r.World, r.Seed, r.Started, r.Plan = h.Header.Scenario, h.Header.World, h.Header.Seed, h.Header.Started, h.Header.Plan
	if n := len(h.Events); n > 0 {
		r.DurationS = max(r.DurationS, h.Events[n-1].Time.Seconds())
	}
}

// MarshalJSON leaves out the figures of a lock that did not run: they were not measured, and are not 0.
func (l Lock) MarshalJSON() ([]byte, error) {
	type plain Lock
	if l.Unsupported == "" {
		return unescaped(plain(l))
	}
	type unmeasured struct {
		Episodes        *int `json:"episodes,omitempty"`
		Violating       *int `json:"violating_episodes,omitempty"`
		Acquires        *int `json:"acquires,omitempty"`
		Writes          *int `json:"writes,omitempty"`
		LostUpdates     *int `json:"lost_updates,omitempty"`
		LostPerThousand *int `json:"lost_per_thousand,omitempty"`
		OutageS         *int `json:"outage_s,omitempty"`
		ActiveS         *int `json:"active_s,omitempty"`
		GrantsPerSecond *int `json:"grants_per_second,omitempty"`
	}
	// The names of the outer fields hide those of the figures, which are embedded more deeply.
	return unescaped(struct {
		plain
		unmeasured
	}{plain: plain(l)})
}

// unescaped is json.Marshal that keeps the signs <, > and &, as result.json has them.
func unescaped(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// NewLock makes the result of one lock from its history and the judge's report. The caller sets Options, Servers,
// Expected, AsExpected and Mismatch.
func NewLock(h *history.History, judged checker.Report) Lock {
	l := Lock{Options: map[string]string{}}
	l.Judge(h, judged)
	return l
}

// Judge sets the results of the lock from its history and the judge's report.
func (l *Lock) Judge(h *history.History, judged checker.Report) {
	l.Lock = h.Header.Lock
	l.Topology = locks.Topology(h.Header.Topology)
	l.Claims = h.Header.Claims
	l.Plan = h.Header.Plan
	l.Verdict = judged.Verdict
	l.Class = judged.Class
	l.Error = judged.Broken()
	l.Figures = stats.Measure(h, judged.Checks)
	l.Faults = faultTimes(h)
	l.Checks = cutFindings(judged.Checks)
	l.Notes = notes(h)
	if judged.Verdict == checker.Unknown {
		l.Why = judged.Why()
	}
	if judged.Release == checker.Strict {
		l.Release = judged.Release
	}
	if f, found := l.FirstFinding(); found && l.Verdict == checker.Violated {
		l.Counterexample = NewCounterexample(h, f, judged)
	}
}

// notes returns what the run noted at its end.
func notes(h *history.History) []string {
	for _, pos := range slices.Backward(h.Probes) {
		if noted := h.Events[pos].Facts.Noted; noted != nil {
			return noted.Notes
		}
	}
	return nil
}

// Title is the lock's name, with a remark if it is wrong on purpose.
func (l *Lock) Title() string {
	if l.Wrong {
		return l.Lock + " (wrong on purpose)"
	}
	return l.Lock
}

// Control reports whether the lock is a control, which needs no server: no-lock must be found violated, in-process
// and flock valid.
func (l *Lock) Control() bool { return l.Topology == locks.None }

// FirstFinding is the first finding of the lock's class. If there is none, because its findings were cut from
// result.json, it is the first of all.
func (l *Lock) FirstFinding() (first checker.Finding, found bool) {
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			of, before := f.Class == l.Class, first.Class == l.Class
			if !found || of && !before || of == before && f.Event < first.Event {
				first, found = f, true
			}
		}
	}
	return first, found
}

// Check is the result of the checker with that name.
func (l *Lock) Check(name string) (checker.Result, bool) {
	for _, c := range l.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return checker.Result{}, false
}

// Found is verdict and class: "violated overstay".
func (l *Lock) Found() string {
	return strings.TrimSpace(l.Verdict.String() + " " + l.Class.String())
}

// Shown is what was found, or the word for a lock without a verdict.
func (l *Lock) Shown() string {
	if !l.judged() {
		return l.Outcome().Look().Word
	}
	return l.Found()
}

// Find returns a lock of the run, or nil.
func (r *Result) Find(lock string) *Lock {
	i := slices.IndexFunc(r.Locks, func(l Lock) bool { return l.Lock == lock })
	if i < 0 {
		return nil
	}
	return &r.Locks[i]
}

// Recorded returns the locks that have a history in the folder of the run. A lock that took no part, in which the harness
// failed, or before which the run was interrupted, need not have one.
func (r *Result) Recorded() []string {
	var all []string
	for l := range r.All() {
		unbegun := r.Interrupted && l.Verdict == checker.Unknown && l.Checks == nil
		if l.Unsupported == "" && l.Error == "" && !unbegun && !r.FiguresOnly {
			all = append(all, l.Lock)
		}
	}
	return all
}

// Repeats reports whether the command in again gives the same history: not if the run was stopped in the middle of an episode.
func (r *Result) Repeats() bool { return r.Virtual && !r.Interrupted }

// All are the locks of the run.
func (r *Result) All() iter.Seq[*Lock] {
	return func(yield func(*Lock) bool) {
		for i := range r.Locks {
			if !yield(&r.Locks[i]) {
				return
			}
		}
	}
}

// FirstViolation is the lock whose violation the screen shows: the earliest of the worst class. It leaves out controls
// that are as expected. It is nil if there is none.
func (r *Result) FirstViolation() *Lock {
	var first *Lock
	for l := range r.All() {
		_, found := l.FirstFinding()
		if !found || l.Verdict != checker.Violated || l.Error != "" || l.Calm() {
			continue
		}
		if first == nil || l.Class > first.Class || l.Class == first.Class && seconds(l.FirstViolationS) < seconds(first.FirstViolationS) {
			first = l
		}
	}
	return first
}

// ExitCode is the exit code of the run; see Worst for the order. A run that was stopped early counts as unknown, and so
// does one in which no lock took part.
func (r *Result) ExitCode() int {
	code, ran := ExitExpected, false
	for i := range r.Locks {
		code = Worst(code, r.Locks[i].ExitCode())
		ran = ran || r.Locks[i].Unsupported == ""
	}
	if r.Interrupted || !ran {
		code = Worst(code, ExitUnknown)
	}
	return code
}

// untested reports whether the user named the lock and it took no part.
func (l *Lock) untested() bool { return l.Named && l.Unsupported != "" }

// Odd reports whether the lock took part and is not as expected.
func (l *Lock) Odd() bool { return l.Unsupported == "" && l.ExitCode() != ExitExpected }

// Calm reports whether the lock is a control that is as expected, which shows nothing about other locks.
func (l *Lock) Calm() bool { return l.Control() && l.Unsupported == "" && l.ExitCode() == ExitExpected }

// cutFindings counts the findings of each check, and keeps FindingsMax of them, the worst first.
func cutFindings(checks []checker.Result) []checker.Result {
	cut := slices.Clone(checks)
	for i := range cut {
		c := &cut[i]
		c.Violations = max(c.Violations, len(c.Findings))
		if len(c.Findings) > FindingsMax {
			c.Findings = slices.Clone(c.Findings)
			slices.SortStableFunc(c.Findings, func(a, b checker.Finding) int { return cmp.Compare(b.Class, a.Class) })
			c.Findings = c.Findings[:FindingsMax]
		}
	}
	return cut
}

func seconds(s *float64) float64 {
	if s == nil {
		return 0
	}
	return *s
}
