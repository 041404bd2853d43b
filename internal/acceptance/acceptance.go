// Package acceptance asks whether lockbench finds what its scenarios say, in each
// world that can run them, as often as was asked for: so many seeds of each scenario,
// and more of the one in which nothing breaks.
//
// It runs nothing by itself. Each world has a matrix of its own, and those are all
// that it knows:
//
//	results/acceptance/<stamp>-<seed>/
//	  acceptance.json   what was asked for, and then what came out
//	  acceptance.md     the same for people
//	  sim/ local/ ...   the matrices, each with its page and its runs
//
// So an acceptance that was interrupted, also by kill -9, goes on where it stood. A
// run is judged by the verdict alone; how often a lock may break is judged over all
// seeds together.
package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockbench/internal/matrix"
	"lockbench/internal/report"
)

// The files of an acceptance, beside a folder for each world.
const (
	File        = "acceptance.json"
	SummaryFile = "acceptance.md"
)

// Schema is that of acceptance.json. Fields are added, never renamed.
const Schema = 1

// Settings are what was asked for. They are on the disk before anything runs.
type Settings struct {
	Acceptance int       `json:"acceptance"` // the schema
	Scenarios  string    `json:"scenarios,omitempty"`
	Seed       uint64    `json:"seed"` // of the first runs; those after it count up
	Asked      []Asked   `json:"asked"`
	Started    time.Time `json:"started,omitzero"`
	Program    string    `json:"program,omitempty"`
	Machine    string    `json:"machine,omitempty"`
	Again      string    `json:"again,omitempty"` // the command
}

// Asked is what was asked of a world.
type Asked struct {
	World string `json:"world"`
	// Seeds is how many runs of each scenario, and Steady of the one without faults.
	Seeds  int `json:"seeds"`
	Steady int `json:"steady"`
}

// Acceptance is what came out.
type Acceptance struct {
	Settings
	Worlds []World `json:"worlds"`
	// Dir is where it lies.
	Dir string `json:"-"`
}

// World is what came out in one world.
type World struct {
	World string `json:"world"`
	About string `json:"about,omitempty"`
	// Missing says why the world cannot be used on this machine.
	Missing   string     `json:"missing,omitempty"`
	Scenarios []Scenario `json:"scenarios"`
	Controls  []Control  `json:"controls,omitempty"`
	Detection []Detected `json:"detection,omitempty"`
	// Started is when, and Machine where, the first of its runs began; nothing if none did.
	Started time.Time `json:"started,omitzero"`
	Machine string    `json:"machine,omitempty"`
	// Programs are the lockbenches that ran: more than one if the acceptance went on
	// with another.
	Programs []string `json:"programs,omitempty"`
}

// Scenario is what came out of one scenario in one world.
type Scenario struct {
	Scenario   string `json:"scenario"`
	Asked      int    `json:"asked"` // runs
	Ran        int    `json:"ran"`
	AsExpected int    `json:"as_expected"` // of those that ran
	// NotRun says why fewer ran than were asked for.
	NotRun string `json:"not_run,omitempty"`
	// Unable says why the world can run it for no lock with servers.
	Unable string `json:"unable,omitempty"`
	// Odd are the runs that were not as expected.
	Odd []Odd `json:"odd,omitempty"`
	// Rates are the locks that broke more or less often over all seeds than they may.
	Rates []string `json:"rates,omitempty"`
	// Left are the locks that the world cannot run in it, and why.
	Left []string `json:"left,omitempty"`
}

// Odd is a lock that in one run did not do what was expected of it.
type Odd struct {
	Seed  uint64 `json:"seed"`
	Lock  string `json:"lock"`
	Text  string `json:"text"`
	Dir   string `json:"dir"` // of the run, relative to the acceptance, with slashes
	Again string `json:"again"`
	// Harness says that lockbench failed, and Undecided that it could not tell.
	Harness   bool `json:"harness,omitempty"`
	Undecided bool `json:"undecided,omitempty"`
}

// Control is what a lock without servers did over all runs of a world.
type Control struct {
	Lock     string `json:"lock"`
	Runs     int    `json:"runs"`
	Violated int    `json:"violated"` // runs
}

// Detected is how often a lock that a scenario expects to break was caught.
type Detected struct {
	Scenario string   `json:"scenario"`
	Lock     string   `json:"lock"`
	Caught   int      `json:"caught"` // episodes
	Episodes int      `json:"episodes"`
	AfterS   *float64 `json:"after_s,omitempty"` // median time to the first violation
}

// whole tells whether everything that was asked for was run.
func (s *Scenario) whole() bool { return s.Unable != "" || s.Ran >= s.Asked }

// asExpected tells whether everything that ran was as expected.
func (s *Scenario) asExpected() bool { return s.AsExpected == s.Ran && len(s.Rates) == 0 }

// ExitCode is what a program that ran the acceptance should end with: 0 only if all
// that was asked for was run and is as expected.
func (a *Acceptance) ExitCode() int {
	code := report.ExitExpected
	worse := func(c int) {
		weight := map[int]int{report.ExitExpected: 0, report.ExitUnknown: 1, report.ExitUnexpected: 2, report.ExitHarness: 3}
		if weight[c] > weight[code] {
			code = c
		}
	}
	ran := 0
	for _, w := range a.Worlds {
		for i := range w.Scenarios {
			s := &w.Scenarios[i]
			if s.Unable == "" {
				ran += s.Ran
			}
			if !s.whole() {
				worse(report.ExitUnknown)
			}
			if len(s.Rates) > 0 {
				worse(report.ExitUnexpected)
			}
			for _, o := range s.Odd {
				switch {
				case o.Harness:
					worse(report.ExitHarness)
				case o.Undecided:
					worse(report.ExitUnknown)
				default:
					worse(report.ExitUnexpected)
				}
			}
		}
	}
	if ran == 0 {
		worse(report.ExitUnknown) // nothing happened is not the same as nothing went wrong
	}
	return code
}

// Create makes the folder of a new acceptance and writes down what was asked for.
func Create(out string, s Settings) (dir string, err error) {
	s.Acceptance = Schema
	b, err := report.Create(out, "acceptance", s.Started, s.Seed)
	if err != nil {
		return "", err
	}
	return b.Dir, writeJSON(b.Dir, s)
}

// ReadSettings reads what was asked for.
func ReadSettings(dir string) (Settings, error) {
	var s Settings
	name := filepath.Join(dir, File)
	text, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("read %s: there is none; name the folder of an acceptance, such as results/acceptance/20261121-114000-1", name)
		}
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	if s.Acceptance != Schema {
		return s, fmt.Errorf("read %s: it has schema %d and this lockbench reads %d", name, s.Acceptance, Schema)
	}
	return s, nil
}

func writeJSON(dir string, v any) error {
	return (&report.Bundle{Dir: dir}).Write(File, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(v)
	})
}

// write puts everything that is made from an acceptance into its folder.
func (a *Acceptance) write() error {
	return errors.Join(writeJSON(a.Dir, a), (&report.Bundle{Dir: a.Dir}).Write(SummaryFile, a.summary))
}

// Expect are the words of the scenarios, taken apart: Whole is all of them, Verdict is
// without the rate, which one run cannot show, and Rate is the rate alone.
type Expect struct{ Whole, Verdict, Rate matrix.Expects }
