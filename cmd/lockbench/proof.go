package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/locks/mutants"
)

// proof is what came out of the runs of one wrong lock and its twin.
type proof struct {
	Lock    string
	Mistake string
	mutants.Wrong
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
	first                        uint64   // the seed that showed it first
}

// add counts a run, and says whether it showed the mistake.
func (p *proof) add(r *report.Result, seed uint64) bool {
	p.Seconds += r.DurationS
	p.addTwin(lockOf(r, p.Twin), seed)
	return p.addWrong(lockOf(r, p.Lock), seed)
}

// fails keeps what the harness said of a lock.
func (p *proof) fails(l *report.Lock, seed uint64) {
	if text := cmp.Or(l.Error, l.Unsupported); text != "" {
		p.Failed = append(p.Failed, fmt.Sprintf("seed %d: %s: %s", seed, l.Lock, report.OneLine(text)))
	}
}

// addTwin counts what came out of the twin.
func (p *proof) addTwin(twin *report.Lock, seed uint64) {
	p.fails(twin, seed)
	p.TwinRuns++
	switch {
	case shows(twin, p.Class), twin.Verdict != checker.Unknown && !twin.AsExpected:
		p.Accused++
		p.AccusedOf = append(p.AccusedOf, fmt.Sprintf("seed %d: %s", seed, foundIn(twin)))
	case twin.Verdict == checker.Unknown:
		p.Undecided++
	}
}

// addWrong counts what came out of the wrong lock, and says whether that shows the mistake.
func (p *proof) addWrong(wrong *report.Lock, seed uint64) bool {
	p.fails(wrong, seed)
	p.Runs++
	p.Violating += wrong.ViolatingEpisodes
	p.Episodes += wrong.Episodes
	if !shows(wrong, p.Class) {
		if found := foundIn(wrong); !slices.Contains(p.Found, found) {
			p.Found = append(p.Found, found)
		}
		return false
	}
	p.Seen++
	if p.first == 0 || seed < p.first {
		p.first = seed
	}
	return true
}

func lockOf(r *report.Result, name string) *report.Lock {
	i := slices.IndexFunc(r.Locks, func(l report.Lock) bool { return l.Lock == name })
	return &r.Locks[i]
}

// shows tells whether a lock was found to break in a way: of a class, or by a rule.
func shows(l *report.Lock, class string) bool {
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

// shown tells whether so many runs showed the mistake that it is no matter of luck.
func (p *proof) shown() bool { return p.Runs > 0 && 20*p.Seen >= 19*p.Runs }

// exitCode is the program's, if this were all. Of a lock that is known as not shown, nothing is
// asked but by its name.
func (p *proof) exitCode(named bool) int {
	switch {
	case len(p.Failed) > 0:
		return report.ExitHarness
	case p.Accused > 0:
		return report.ExitUnexpected
	case !p.shown() && (p.NotShown == "" || named):
		return report.ExitUnexpected
	}
	return report.ExitExpected
}

// word says in one how it went.
func (p *proof) word() string {
	switch {
	case len(p.Failed) > 0:
		return "failed"
	case p.Accused > 0:
		return "twin accused"
	case p.shown():
		return "shown"
	case p.NotShown != "":
		return "not shown yet"
	}
	return "NOT SHOWN"
}

// printProof prints a line for the lock, one for its twin, and the story.
func printProof(say func(string), p *proof, story []string, world string) {
	say(fmt.Sprintf("%s  %s", p.Lock, p.Mistake))
	known := ""
	if p.Known != "" {
		known = ", found in " + p.Known
	}
	say(fmt.Sprintf("  bug %s%s", p.Bug, known))
	say(fmt.Sprintf("  wrong  %s in %s: %s in %d of %s (%d of %s violated), %.1f s",
		p.Lock, p.Scenario, p.Class, p.Seen, count(p.Runs, "run"), p.Violating, count(p.Episodes, "episode"), p.Seconds))
	undecided := ""
	if p.Undecided > 0 {
		undecided = fmt.Sprintf(", %d undecided", p.Undecided)
	}
	say(fmt.Sprintf("  right  %s: accused in %d of %s%s", p.Twin, p.Accused, count(p.TwinRuns, "run"), undecided))
	if !p.shown() && len(p.Found) > 0 {
		say("  found in its place: " + strings.Join(p.Found, "; "))
	}
	if len(p.AccusedOf) > 0 {
		say("  accused of: " + strings.Join(p.AccusedOf, "; "))
	}
	if p.NotShown != "" {
		say("  not shown yet: " + p.NotShown)
	}
	for _, text := range p.Failed {
		say("  " + text)
	}
	if len(story) > 0 {
		say("")
		for _, line := range story {
			say(line)
		}
	}
	if p.first > 0 {
		say(fmt.Sprintf("\nAgain    lockbench run %s --world %s --seed %d --locks %s,%s", p.Scenario, world, p.first, p.Lock, p.Twin))
	}
	say("")
}

// printProofs prints all as a table.
func printProofs(out io.Writer, proofs []*proof) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "BUG\tLOCK\tSCENARIO\tCLASS\tSEEN\tTWIN\tACCUSED\tTIME\t")
	for _, p := range proofs {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d of %d\t%s\t%d of %d\t%.0f s\t%s\n",
			p.Bug, p.Lock, p.Scenario, p.Class, p.Seen, p.Runs, p.Twin, p.Accused, p.TwinRuns, p.Seconds, p.word())
	}
	_ = t.Flush()
	for _, p := range proofs {
		if !p.shown() && len(p.Found) > 0 {
			_, _ = fmt.Fprintf(out, "%s: in place of %s: %s\n", p.Lock, p.Class, strings.Join(p.Found, "; "))
		}
		if p.NotShown != "" {
			_, _ = fmt.Fprintf(out, "%s: not shown yet: %s\n", p.Lock, p.NotShown)
		}
		if len(p.AccusedOf) > 0 {
			_, _ = fmt.Fprintf(out, "%s: its twin %s was accused of: %s\n", p.Lock, p.Twin, strings.Join(p.AccusedOf, "; "))
		}
		for _, text := range p.Failed {
			_, _ = fmt.Fprintln(out, p.Lock+": "+text)
		}
	}
}

// conclusionOf says in a line how all went.
func conclusionOf(proofs []*proof, code int) string {
	shown, open, accused := 0, 0, 0
	for _, p := range proofs {
		switch {
		case p.shown():
			shown++
		case p.NotShown != "":
			open++
		}
		if p.Accused > 0 {
			accused++
		}
	}
	line := fmt.Sprintf("Exit %d: %d of %s shown", code, shown, count(len(proofs), "wrong lock"))
	if open > 0 {
		line += fmt.Sprintf(", %d known as not shown yet", open)
	}
	if accused > 0 {
		return line + fmt.Sprintf("; the twins of %d accused.", accused)
	}
	return line + "; no twin accused."
}
