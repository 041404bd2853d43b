package campaign

import (
	"cmp"
	"slices"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/scenarios"
)

// expects is how a lock is judged by its scenario's words: all of them, or a part.
type expects func(*scenarios.Scenario, *report.Lock) (expected string, holds bool, why string)

// judge asks what a scenario expects of a lock, and whether what was found is so.
func (all Choices) judge(by expects, scenario string, l *report.Lock) (expected string, holds bool, why string) {
	if c, ok := all.of(scenario); ok {
		return by(c.scenario, l)
	}
	s, err := scenarios.Load(scenario)
	if err != nil {
		return "", false, "the scenario is not known here"
	}
	return by(s, l)
}

// judge looks at each run of a row by itself, and at how often locks broke in all.
func (r *Row) judge(chosen Choices) {
	for _, ran := range r.Runs {
		for i := range ran.result.Locks {
			if o, is := oddOf(chosen, r.Scenario, &ran.result.Locks[i]); is {
				o.Seed, o.Dir, o.Again = ran.Seed, ran.Dir, ran.Again
				r.Odd = append(r.Odd, o)
			}
		}
	}
	for i := range r.Result.Locks {
		l := &r.Result.Locks[i]
		if l.Unsupported != "" || l.Episodes == 0 { // none failed each time, and is told as that
			continue
		}
		if _, holds, why := chosen.judge(run.ExpectsRate, r.Scenario, l); !holds {
			r.Rates = append(r.Rates, l.Lock+": "+why)
		}
	}
}

// oddOf tells what is not as expected of a lock in one run, which is too short to show
// a rate.
func oddOf(chosen Choices, scenario string, l *report.Lock) (Odd, bool) {
	switch {
	case l.Error != "":
		return Odd{Lock: l.Lock, Text: "the harness failed: " + report.OneLine(l.Error), Harness: true}, true
	case l.Unsupported != "":
		return Odd{}, false
	}
	expected, holds, why := chosen.judge(run.ExpectsVerdict, scenario, l)
	if holds {
		return Odd{}, false
	}
	text := "expected " + cmp.Or(expected, "valid") + ", found " + l.Found()
	if l.Why != "" {
		text += ": " + report.OneLine(l.Why)
	} else if why != "" {
		text += "; " + report.OneLine(why)
	}
	return Odd{Lock: l.Lock, Text: text, Undecided: l.Verdict == checker.Unknown}, true
}

// control is in how many of its runs a lock took part, and in how many it broke.
func (r *Row) control(lock string) (runs, violated int) {
	for _, ran := range r.Runs {
		if slices.ContainsFunc(r.Odd, func(o Odd) bool { return o.Harness && o.Lock == lock && o.Seed == ran.Seed }) {
			continue
		}
		runs++
		if slices.Contains(ran.Broke, lock) {
			violated++
		}
	}
	return runs, violated
}
