package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"lockbench/internal/report"
	"lockbench/locks/locktest"
)

// conformSchema is the version of the output of --json. Fields are added, and never renamed or removed.
const conformSchema = 1

// conformReport is the result for a lock.
type conformReport struct {
	Schema     int         `json:"schema"`
	Lock       string      `json:"lock"`
	Call       string      `json:"call,omitempty"`    // the option call, if it was given
	Version    string      `json:"version,omitempty"` // of the library, as its guest reports it
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
}

// conformRule is the result of one rule.
type conformRule struct {
	Rule   string  `json:"rule"`
	About  string  `json:"about"`
	Result string  `json:"result"`
	Why    string  `json:"why,omitempty"`
	TookS  float64 `json:"took_s"`
}

// The values of conformRule.Result.
const (
	ruleKept      = "kept"
	ruleBroken    = "broken"
	ruleUndecided = "undecided"
	ruleNA        = "n/a"
)

// add adds a result.
func (on *conformOn) add(r locktest.Result) conformRule {
	rule := conformRule{Rule: r.Rule.Name, About: r.Rule.About, Result: ruleKept, TookS: r.Took.Seconds()}
	switch {
	case r.Err != nil:
		rule.Result, rule.Why = ruleBroken, report.OneLine(r.Err.Error())
		on.Broken++
	case r.Undecided != nil:
		rule.Result, rule.Why = ruleUndecided, report.OneLine(r.Undecided.Error())
		on.Undecided++
	case r.NA != "":
		rule.Result, rule.Why = ruleNA, r.NA
		on.NotAsked++
	default:
		on.Kept++
	}
	on.Rules = append(on.Rules, rule)
	return rule
}

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

// print prints the results on one topology, broken rules first, and the names of the rules that do not apply.
func (r *conformReport) print(w io.Writer, on *conformOn) {
	if on.LeftOut != "" {
		_, _ = fmt.Fprintf(w, "%s on %s, world %s: left out, %s\n\n", r.Lock, on.Topology, r.World, on.LeftOut)
		return
	}
	_, _ = fmt.Fprintf(w, "%s on %s, world %s\n", r.Lock, on.Topology, r.World)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var notApplicable []string
	for _, result := range []string{ruleBroken, ruleUndecided, ruleKept, ruleNA} {
		for _, rule := range on.Rules {
			if rule.Result != result {
				continue
			}
			if result == ruleNA {
				notApplicable = append(notApplicable, rule.Rule)
				continue
			}
			word := result
			if word == ruleBroken {
				word = "BROKEN"
			}
			_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", rule.Rule, word, seconds(rule.TookS), cmp.Or(rule.Why, rule.About))
		}
	}
	_ = table.Flush()
	if len(notApplicable) > 0 {
		text := "not applicable (--json has the reasons): " + strings.Join(notApplicable, ", ")
		_, _ = fmt.Fprintln(w, "  "+report.Wrap(text, 2, columns))
	}
	_, _ = fmt.Fprintf(w, "%d kept, %d broken, %d undecided, %d not asked\n\n", on.Kept, on.Broken, on.Undecided, on.NotAsked)
}

// write writes the output that needs all results.
func (f *conformFlags) write(w io.Writer, r *conformReport) error {
	if f.junit != "" {
		var b bytes.Buffer
		if err := report.JUnitSuites(&b, r.suites()); err != nil {
			return err
		}
		if err := os.WriteFile(f.junit, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write --junit: %w", err)
		}
	}
	if f.json {
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
		rules := on.Rules
		if on.LeftOut != "" {
			rules = []conformRule{{Rule: r.Lock, Result: ruleNA, Why: on.LeftOut}}
		}
		took := 0.0
		var cases []report.Case
		for _, rule := range rules {
			took += rule.TookS
			c := report.Case{Name: rule.Rule, Class: report.OneLine("lockbench.conform." + on.Topology)}
			why := &report.CaseMessage{Message: report.OneLine(rule.Why)}
			switch rule.Result {
			case ruleBroken:
				why.Type, c.Failure = ruleBroken, why
			case ruleUndecided:
				why.Type, c.Error = ruleUndecided, why
			case ruleNA:
				c.Skipped = why
			}
			cases = append(cases, c)
		}
		suite := report.NewSuite(fmt.Sprintf("lockbench conform %s on %s", r.Lock, on.Topology), took)
		for _, c := range cases {
			suite.Add(c)
		}
		suites = append(suites, suite)
	}
	return suites
}
