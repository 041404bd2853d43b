package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"lockbench/internal/report"
	"lockbench/locks/locktest"
)

// conformSchema is the version of the output of --json. Fields are added, and never renamed or removed.
const conformSchema = 1

// conformReport is the result for a lock.
type conformReport struct {
	Schema     int         `json:"schema"`
	Lock       string      `json:"lock"`
	World      string      `json:"world"`
	Topologies []conformOn `json:"topologies"`
	// Notes are mistakes of a guest's clients that are not part of the rules.
	Notes []string `json:"notes,omitempty"`
}

// conformOn is the result on one topology.
type conformOn struct {
	Topology  string        `json:"topology"`
	LeftOut   string        `json:"left_out,omitempty"` // why nothing was asked on it
	Kept      int           `json:"kept"`
	Broken    int           `json:"broken"`
	Undecided int           `json:"undecided"`
	NotAsked  int           `json:"not_asked"`
	Rules     []conformRule `json:"rules"`

	took time.Duration
}

// conformRule is the result of one rule.
type conformRule struct {
	Rule   string  `json:"rule"`
	About  string  `json:"about"`
	Result string  `json:"result"` // kept, broken, undecided, n/a
	Why    string  `json:"why,omitempty"`
	TookS  float64 `json:"took_s"`

	took      time.Duration
	exclusion bool // two clients may hold the lock if it is broken
}

// rank orders the rules on the screen, broken exclusion first.
func (r conformRule) rank() int {
	switch {
	case r.Result == ruleBroken && r.exclusion:
		return 0
	case r.Result == ruleBroken:
		return 1
	case r.Result == ruleUndecided:
		return 2
	}
	return 3
}

// The values of conformRule.Result.
const (
	ruleKept      = "kept"
	ruleBroken    = "broken"
	ruleUndecided = "undecided"
	ruleNA        = "n/a"
)

// count adds the results.
func (on *conformOn) count(results []locktest.Result) {
	for _, r := range results {
		rule := conformRule{Rule: r.Rule.Name, About: r.Rule.About, Result: ruleKept, TookS: r.Took.Seconds(), took: r.Took, exclusion: r.Rule.Exclusion()}
		switch {
		case r.Err != nil:
			rule.Result, rule.Why = ruleBroken, line(r.Err)
			on.Broken++
		case r.Undecided != nil:
			rule.Result, rule.Why = ruleUndecided, line(r.Undecided)
			on.Undecided++
		case r.NA != "":
			rule.Result, rule.Why = ruleNA, r.NA
			on.NotAsked++
		default:
			on.Kept++
		}
		on.Rules = append(on.Rules, rule)
	}
}

// line returns an error on one line.
func line(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (r *conformReport) exitCode() int {
	code := report.ExitExpected
	for _, on := range r.Topologies {
		switch {
		case on.Broken > 0:
			code = report.Worst(code, report.ExitUnexpected)
		case on.Undecided > 0:
			code = report.Worst(code, report.ExitUnknown)
		}
	}
	return code
}

// conformShow are the options of the output.
type conformShow struct {
	all, json bool
	junit     string // a file; empty: none
}

func (s *conformShow) add(fl *pflag.FlagSet) {
	fl.BoolVar(&s.all, "all", false, "show the rules that were left out, each with the reason")
	fl.BoolVar(&s.json, "json", false, "print the results as JSON on stdout")
	fl.StringVar(&s.junit, "junit", "", "write the results to this file, too, as JUnit XML: one case for each rule")
}

// check returns an error before the run if a file could not be written.
func (s *conformShow) check() error {
	if s.junit == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(s.junit)); err != nil || !info.IsDir() {
		return usagef("--junit %s: there is no folder %s; make it first", s.junit, filepath.Dir(s.junit))
	}
	if info, err := os.Stat(s.junit); err == nil && info.IsDir() {
		return usagef("--junit %s: it is a folder; give a file in it", s.junit)
	}
	return nil
}

// topology shows the results of one topology.
func (s *conformShow) topology(w io.Writer, r *conformReport, on *conformOn) error {
	if s.json {
		return nil
	}
	if on.LeftOut != "" {
		_, err := fmt.Fprintf(w, "%s on %s, world %s: left out, %s\n\n", r.Lock, on.Topology, r.World, on.LeftOut)
		return err
	}
	_, _ = fmt.Fprintf(w, "%s on %s, world %s\n", r.Lock, on.Topology, r.World)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var folded []string
	shown := slices.Clone(on.Rules)
	slices.SortStableFunc(shown, func(a, b conformRule) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, rule := range shown {
		word, note := rule.Result, rule.Why
		switch word {
		case ruleNA:
			if !s.all {
				folded = append(folded, rule.Rule)
				continue
			}
		case ruleKept:
			note = rule.About
		case ruleBroken:
			word = "BROKEN"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", rule.Rule, word, rule.took.Round(time.Millisecond), note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(folded) > 0 {
		_, _ = fmt.Fprintf(w, "  not applicable: %s\n", strings.Join(folded, ", "))
	}
	_, err := fmt.Fprintf(w, "%d kept, %d broken, %d undecided, %d not asked\n\n", on.Kept, on.Broken, on.Undecided, on.NotAsked)
	return err
}

// end writes the output that needs all results.
func (s *conformShow) end(w io.Writer, r *conformReport) error {
	if s.junit != "" {
		var b bytes.Buffer
		if err := report.JUnitSuites(&b, r.suites()); err != nil {
			return err
		}
		if err := os.WriteFile(s.junit, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write --junit %s: %w", s.junit, err)
		}
	}
	if s.json {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(r)
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintf(w, "! %s: %s\n", r.Lock, note)
	}
	return nil
}

// suites converts the results to JUnit, one suite for each topology.
func (r *conformReport) suites() []report.Suite {
	var suites []report.Suite
	for _, on := range r.Topologies {
		suite := report.NewSuite(fmt.Sprintf("lockbench conform %s on %s", r.Lock, on.Topology), on.took.Seconds())
		class := report.OneLine("lockbench.conform." + on.Topology)
		if on.LeftOut != "" {
			suite.Add(report.Case{Name: r.Lock, Class: class, Skipped: &report.CaseMessage{Message: report.OneLine(on.LeftOut)}})
		}
		for _, rule := range on.Rules {
			c, why := report.Case{Name: rule.Rule, Class: class}, &report.CaseMessage{Message: report.OneLine(rule.Why), Type: rule.Result}
			switch rule.Result {
			case ruleBroken:
				c.Failure = why
			case ruleUndecided:
				c.Error = why
			case ruleNA:
				why.Type = ""
				c.Skipped = why
			}
			suite.Add(c)
		}
		suites = append(suites, suite)
	}
	return suites
}
