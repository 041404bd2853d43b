package search

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/trial"
)

// SetsFile is the file with the result of a search through sets of faults.
const SetsFile = "sets.json"

// SetsFound is the progress and the result of a search through sets of faults.
type SetsFound struct {
	Sets   int     `json:"sets"` // the schema, 1
	Lock   string  `json:"lock"`
	Size   int     `json:"size"`
	Rounds int     `json:"rounds"`
	Again  string  `json:"again,omitempty"`
	Levels []Level `json:"levels"` // by the number of faults, from 0
	// NotApplied are the faults of the catalog that do not apply to the lock's servers, with the reasons.
	NotApplied []string `json:"not_applied,omitempty"`
	// Smallest are the violated sets without a violated part: the first of each kind.
	Smallest []Set `json:"smallest,omitempty"`
	// Interrupted reports that the search was stopped before its end.
	Interrupted bool    `json:"interrupted,omitempty"`
	ElapsedS    float64 `json:"elapsed_s"`
}

// Level counts the sets with one number of faults.
type Level struct {
	Faults   int  `json:"faults"`
	Sets     int  `json:"sets"` // how many there are
	Ran      int  `json:"ran"`
	Points   int  `json:"points"` // of the runs of the level before
	Violated int  `json:"violated"`
	Unknown  int  `json:"unknown"`
	NotRun   int  `json:"not_run"`
	Distinct int  `json:"distinct"` // different histories
	Complete bool `json:"complete"`
	// Shown counts the violated sets by what they show, and Kinds by what they show and by their faults without triggers.
	Shown map[string]int            `json:"shown,omitempty"`
	Kinds map[string]map[string]int `json:"kinds,omitempty"`
	// Reasons are why sets are unknown or did not run.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Set is a set of faults and what it shows.
type Set struct {
	Faults []string `json:"faults"` // as in a scenario
	Rule   string   `json:"rule"`
	Class  string   `json:"class,omitempty"`
	Text   string   `json:"text"`
	Dir    string   `json:"dir,omitempty"` // the results folder

	input trial.Input
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

// ExitCode returns the exit code of the search and the reason.
func (f *SetsFound) ExitCode() (code int, why string) {
	sets, notRun, unknown := 0, 0, 0
	whole := len(f.Levels) == f.Size+1
	for _, l := range f.Levels {
		sets, notRun, unknown, whole = sets+l.Sets, notRun+l.NotRun, unknown+l.Unknown, whole && l.Complete
	}
	switch {
	case len(f.Levels) == 0:
		return report.ExitUnknown, "interrupted before the small run"
	case f.Levels[0].NotRun > 0:
		return report.ExitHarness, "the small run failed: " + f.Levels[0].Reasons[0].Why
	case f.Levels[0].Violated > 0:
		return report.ExitUnexpected, "the lock is wrong without any fault"
	case !whole:
		return report.ExitUnknown, "interrupted, so larger sets were not all tried"
	case notRun+unknown > 0:
		return report.ExitUnknown, fmt.Sprintf("%d of %d sets did not run, and %d are unknown", notRun, sets, unknown)
	case len(f.Smallest) > 0:
		return report.ExitUnexpected, fmt.Sprintf("%s by %s", f.Smallest[0].Shows(), report.Plural(len(f.Smallest[0].Faults), "fault"))
	}
	return report.ExitExpected, fmt.Sprintf("none of %d sets of up to %s breaks the lock", sets, report.Plural(f.Size, "fault"))
}
