// Package proof counts whether wrong locks are found and right ones left alone, and writes
// that as a page.
package proof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/locks/mutants"
)

// Proof is what came out of the runs of one wrong lock and its twin.
type Proof struct {
	Lock    string
	Mistake string
	mutants.Wrong
	// World is where it was measured, and Asked how many episodes somebody asked for; 0: as
	// many as the scenario says.
	World string
	Asked int `json:",omitempty"`
	// Seen are runs that showed the class, out of Runs; Violating and Episodes are episodes of
	// the wrong lock.
	Seen, Runs          int
	Violating, Episodes int
	// Accused are runs of which the twin did not come out as the scenario expects, or with
	// the class of the wrong lock, out of TwinRuns; Undecided are runs that said nothing of
	// the twin.
	Accused, Undecided, TwinRuns int
	AccusedOf                    []string // what the twin was accused of
	Failed                       []string // what the harness said
	Found                        []string // what was found in place of the class
	Seconds                      float64  // that the runs took: in virtual time its own, else with all locks side by side
	First                        uint64   `json:"-"` // the seed that showed it first
	Through                      bool     `json:"-"` // the wrong lock was measured before, and only its twin is due
}

// fails keeps what the harness said of a lock.
func (p *Proof) fails(l *report.Lock, seed uint64) {
	if text := cmp.Or(l.Error, l.Unsupported); text != "" {
		p.Failed = append(p.Failed, fmt.Sprintf("seed %d: %s: %s", seed, l.Lock, report.OneLine(text)))
	}
}

// AddTwin counts what came out of the twin.
func (p *Proof) AddTwin(twin *report.Lock, seed uint64) {
	p.fails(twin, seed)
	p.TwinRuns++
	switch {
	case Shows(twin, p.Class), twin.Verdict != checker.Unknown && !twin.AsExpected:
		p.Accused++
		p.AccusedOf = append(p.AccusedOf, fmt.Sprintf("seed %d: %s", seed, foundIn(twin)))
	case twin.Verdict == checker.Unknown:
		p.Undecided++
	}
}

// AddWrong counts what came out of the wrong lock, and says whether that shows the mistake.
func (p *Proof) AddWrong(wrong *report.Lock, seed uint64) bool {
	p.fails(wrong, seed)
	p.Runs++
	p.Violating += wrong.ViolatingEpisodes
	p.Episodes += wrong.Episodes
	if !Shows(wrong, p.Class) {
		if found := foundIn(wrong); !slices.Contains(p.Found, found) {
			p.Found = append(p.Found, found)
		}
		return false
	}
	p.Seen++
	if p.First == 0 || seed < p.First {
		p.First = seed
	}
	return true
}

// Shows tells whether a lock was found to break in a way: of a class, or by a rule.
func Shows(l *report.Lock, class string) bool {
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			if f.Rule == class || f.Class.String() == class {
				return true
			}
		}
	}
	return false
}

// foundIn is what was found, in the words of findings.
func foundIn(l *report.Lock) string {
	var all []string
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			if word := cmp.Or(f.Class.String(), f.Rule); !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	if len(all) == 0 {
		return l.Verdict.String()
	}
	return strings.Join(all, ", ")
}

// Shown tells whether so many runs showed the mistake that it is no matter of luck.
func (p *Proof) Shown() bool { return p.Runs > 0 && 20*p.Seen >= 19*p.Runs }

// ExitCode is the program's, if this were all. Of a lock that is known as not shown, nothing is
// asked but by its name.
func (p *Proof) ExitCode(named bool) int {
	switch {
	case len(p.Failed) > 0:
		return report.ExitHarness
	case p.Accused > 0:
		return report.ExitUnexpected
	case !p.Shown() && (p.NotShown == "" || named):
		return report.ExitUnexpected
	}
	return report.ExitExpected
}

// Word says in one how it went.
func (p *Proof) Word() string {
	switch {
	case len(p.Failed) > 0:
		return "failed"
	case p.Accused > 0:
		return "twin accused"
	case p.Shown():
		return "shown"
	case p.NotShown != "":
		return "not shown yet"
	}
	return "NOT SHOWN"
}
