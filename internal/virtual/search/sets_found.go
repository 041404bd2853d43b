package search

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
)

// SetsFile is the file with the result of a search through sets of faults.
const SetsFile = "sets.json"

// SetsFound is the progress and the result of a search through sets of faults. The result is the same for each run of the
// same search.
type SetsFound struct {
	Sets int    `json:"sets"` // the schema, 1
	Lock string `json:"lock"`
	// Workload is the work of the small run.
	Workload string  `json:"workload"`
	Size     int     `json:"size"`
	Rounds   int     `json:"rounds"`
	Levels   []Level `json:"levels"` // by the number of faults, from 0
	// NotApplied are the faults of the catalog that do not apply to the lock's servers, with the reasons.
	NotApplied []string `json:"not_applied,omitempty"`
	// Smallest are the violated sets without a violated part: the first of each kind.
	Smallest []Set `json:"smallest,omitempty"`
	// Interrupted reports that the search was stopped before its end, OutOfBudget that its budget was the reason.
	Interrupted bool `json:"interrupted,omitempty"`
	OutOfBudget bool `json:"out_of_budget,omitempty"`
	// Elapsed is how long the search took, and Processor the processor time of the processes that ran the sets.
	Elapsed   time.Duration `json:"-"`
	Processor time.Duration `json:"-"`
}

// found returns the result of a search that has not begun.
func (h setsHeader) found() *SetsFound {
	return &SetsFound{Sets: 1, Lock: h.Lock, Workload: h.Workload, Size: h.Size, Rounds: h.Rounds, NotApplied: h.Not}
}

// Level counts the sets with one number of faults.
type Level struct {
	Faults int `json:"faults"`
	Sets   int `json:"sets"` // how many there are, and while it is incomplete at least
	Ran    int `json:"ran"`
	Points int `json:"points"` // of the runs of the level before
	// Starts counts the pairs of a point and a fault, and Tried those whose sets were tried. A fault within an operation
	// makes a set for each request of the operation.
	Starts   int  `json:"starts"`
	Tried    int  `json:"tried"`
	Violated int  `json:"violated"`
	Accepted int  `json:"accepted,omitempty"` // of the violated ones
	Unknown  int  `json:"unknown"`
	NotRun   int  `json:"not_run"`
	Distinct int  `json:"distinct"` // different histories
	Complete bool `json:"complete"`
	// Shown counts the violated sets by what they show, and Kinds by what they show and by their faults without triggers.
	Shown map[string]int            `json:"shown,omitempty"`
	Kinds map[string]map[string]int `json:"kinds,omitempty"`
	// Reasons are why sets are unknown or did not run, and Not the first sets that did not run.
	Reasons []Reason `json:"reasons,omitempty"`
	Not     []NotRun `json:"not_run_sets,omitempty"`
}

// NotRun is a set that did not run.
type NotRun struct {
	Faults []string `json:"faults"`
	Why    string   `json:"why"`
}

// notMax bounds the sets of a level that are named because they did not run.
const notMax = 20

// Set is a set of faults and what it shows.
type Set struct {
	Faults []string `json:"faults"` // as in a scenario
	Rule   string   `json:"rule"`
	Class  string   `json:"class,omitempty"`
	Text   string   `json:"text"`
	After  int      `json:"after"` // how many sets had run by then, with this one
	// Accepted reports that the lock does not promise to prevent it.
	Accepted bool   `json:"accepted,omitempty"`
	Dir      string `json:"-"` // the results folder
}

// Shows names what a set shows: its class, or its rule if that has none.
func (s Set) Shows() string { return shows(s.Class, s.Rule) }

// Kind is the faults without their triggers.
func (s Set) Kind() string {
	kinds := make([]string, len(s.Faults))
	for i, f := range s.Faults {
		kinds[i], _, _ = strings.Cut(f, ", when: ")
	}
	return strings.Join(kinds, " + ")
}

func shows(class, rule string) string {
	if class == "" || class == checker.Class(0).String() {
		return rule
	}
	return class
}

// Write writes the result of a search to a file.
func (f *SetsFound) Write(file string) error {
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the result of the search: %w", err)
	}
	return nil
}

// Whole reports whether all sets were tried. A lock that is wrong without faults, or cannot run, has no other sets.
func (f *SetsFound) Whole() bool {
	for _, l := range f.Levels {
		if !l.Complete {
			return false
		}
	}
	if len(f.Levels) == 0 {
		return false
	}
	none := f.Levels[0]
	return len(f.Levels) == f.Size+1 || none.Violated+none.Unknown+none.NotRun > 0
}

// Worst returns the first of the smallest sets that is not accepted, or nil.
func (f *SetsFound) Worst() *Set {
	for i := range f.Smallest {
		if s := &f.Smallest[i]; !s.Accepted {
			return s
		}
	}
	return nil
}

// Undecided returns how many sets did not run or are unknown.
func (f *SetsFound) Undecided() (n int) {
	for _, l := range f.Levels {
		n += l.NotRun + l.Unknown
	}
	return n
}

// Count returns how many sets ran.
func (f *SetsFound) Count() (n int) {
	for _, l := range f.Levels {
		n += l.Ran
	}
	return n
}

// Tried says which sets were tried: all single faults and 31 % of the pairs.
func (f *SetsFound) Tried() string {
	names := []string{"the run without faults", "single faults", "pairs", "sets of three"}
	var parts []string
	for _, l := range f.Levels {
		name := names[min(l.Faults, len(names)-1)]
		switch {
		case l.Complete && l.Faults == 0:
			parts = append(parts, name)
		case l.Complete:
			parts = append(parts, "all "+name)
		case l.Faults > 0:
			parts = append(parts, fmt.Sprintf("%.2g %% of the %s", 100*float64(l.Tried)/float64(max(l.Starts, 1)), name))
		}
	}
	if len(parts) > 1 {
		parts = parts[1:]
	}
	return strings.Join(parts, " and ")
}

// ExitCode returns the exit code of the search and the reason.
func (f *SetsFound) ExitCode() (code int, why string) {
	sets, notRun, unknown := 0, 0, 0
	for _, l := range f.Levels {
		sets, notRun, unknown = sets+l.Sets, notRun+l.NotRun, unknown+l.Unknown
	}
	switch {
	case len(f.Levels) == 0 || f.Levels[0].Tried == 0:
		return report.ExitUnknown, "interrupted before the small run"
	case f.Levels[0].NotRun > 0:
		return report.ExitHarness, "the small run failed: " + f.Levels[0].Reasons[0].Why
	case f.Levels[0].Violated > f.Levels[0].Accepted:
		return report.ExitUnexpected, "the lock is wrong without any fault"
	case f.Levels[0].Unknown > 0:
		return report.ExitUnknown, "the run without faults is unknown: " + f.Levels[0].Reasons[0].Why
	case f.OutOfBudget:
		return report.ExitUnknown, "the budget is used up, after " + f.Tried()
	case !f.Whole():
		return report.ExitUnknown, "interrupted, after " + f.Tried()
	case notRun+unknown > 0:
		return report.ExitUnknown, fmt.Sprintf("%d of %d sets did not run, and %d are unknown", notRun, sets, unknown)
	}
	if s := f.Worst(); s != nil {
		return report.ExitUnexpected, fmt.Sprintf("%s by %s", s.Shows(), report.Plural(len(s.Faults), "fault"))
	}
	return report.ExitExpected, fmt.Sprintf("none of %d sets of up to %s breaks the lock", sets, report.Plural(f.Size, "fault"))
}
