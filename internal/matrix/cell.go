package matrix

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// rowOf puts the runs of a scenario together.
func rowOf(s Settings, part Part, ran []Ran, expects Expects) Row {
	row := Row{Runs: ran, Result: &report.Result{
		Schema: report.SchemaVersion, Scenario: part.Scenario, About: part.About, World: s.World, WorldAbout: s.About, Seed: s.Seed,
		AsExpected: true, Started: s.Started, Program: s.Program, Machine: s.Machine,
	}}
	if len(ran) == 0 {
		row.NotRun = "not run"
		for _, lock := range part.Locks {
			row.Result.Locks = append(row.Result.Locks, report.Lock{Lock: lock, Verdict: checker.Unknown, Why: "not run"})
		}
		return row
	}
	row.Result.Again = ran[0].Again
	for _, r := range ran {
		row.Result.DurationS += r.result.DurationS
		row.Result.WorldAbout = r.result.WorldAbout
	}
	for _, name := range part.Locks {
		var runs []*report.Lock
		for _, r := range ran {
			for i := range r.result.Locks {
				if l := &r.result.Locks[i]; l.Lock == name {
					runs = append(runs, l)
				}
			}
		}
		l := together(name, runs)
		if l.Unsupported == "" && l.Error == "" {
			l.Expected, l.AsExpected, l.Mismatch = expects(part.Scenario, &l)
		}
		row.Result.AsExpected = row.Result.AsExpected && (l.AsExpected || l.Unsupported != "")
		row.Result.Locks = append(row.Result.Locks, l)
	}
	return row
}

// together is one lock over several runs: the worst verdict and class, the figures of
// all episodes. A failure of the harness in one of them is not made up for by others.
func together(name string, runs []*report.Lock) report.Lock {
	if len(runs) == 0 {
		return report.Lock{Lock: name, Verdict: checker.Unknown, Why: "not run", Options: map[string]string{}}
	}
	l := *runs[0]
	var figures []stats.Figures
	var why []string
	l.Verdict, l.Class, l.Why, l.Error, l.Plan, l.Mismatch = checker.Valid, checker.NoClass, "", "", nil, ""
	failed := 0
	for _, r := range runs {
		if r.Error != "" {
			failed++
			l.Error = r.Error
			continue
		}
		figures = append(figures, r.Figures)
		l.Verdict, l.Class = max(l.Verdict, r.Verdict), max(l.Class, r.Class)
		if r.Why != "" && !slices.Contains(why, r.Why) {
			why = append(why, r.Why)
		}
	}
	if failed > 0 && failed < len(runs) {
		l.Error = fmt.Sprintf("%d of %s: %s", failed, report.Plural(len(runs), "run"), l.Error)
	}
	if len(figures) == 0 {
		l.Verdict = checker.Unknown
	}
	if l.Verdict == checker.Unknown {
		const most = 3
		l.Why = strings.Join(why[:min(len(why), most)], "; ")
	}
	l.Figures = stats.Merge(figures)
	l.Checks = checksOf(runs)
	return l
}

// checksOf is what each checker says of all runs, with one finding of each class: the
// rest stands in the runs.
func checksOf(runs []*report.Lock) []checker.Result {
	var all []checker.Result
	for _, r := range runs {
		for _, c := range r.Checks {
			i := slices.IndexFunc(all, func(x checker.Result) bool { return x.Name == c.Name })
			if i < 0 {
				i = len(all)
				all = append(all, checker.Result{Name: c.Name})
			}
			sum := &all[i]
			sum.Verdict = max(sum.Verdict, c.Verdict)
			sum.Violations += c.Violations
			sum.LostUpdates += c.LostUpdates
			if sum.Why == "" {
				sum.Why = c.Why
			}
			sum.Findings = oneOfEachClass(sum.Findings, c.Findings)
		}
	}
	return all
}

// oneOfEachClass adds the findings of classes that are not there yet.
func oneOfEachClass(kept, more []checker.Finding) []checker.Finding {
	for _, f := range more {
		if !slices.ContainsFunc(kept, func(x checker.Finding) bool { return x.Class == f.Class }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// RunsOf are the runs to look at for a lock: those in which it broke, and then the others.
func (r *Row) RunsOf(lock string) []Ran {
	var broke, others []Ran
	for _, ran := range r.Runs {
		if slices.Contains(ran.Broke, lock) {
			broke = append(broke, ran)
		} else {
			others = append(others, ran)
		}
	}
	return append(broke, others...)
}
