package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/stats"
	"lockbench/scenarios"
)

// Table has the results of a campaign.
type Table struct {
	Campaign *Campaign
	Rows     []*Row // of all worlds, in the order of the plan
	Locks    []column
}

// Row is a job with its runs, and its locks over all runs.
type Row struct {
	Job
	World *World
	Name  string // the scenario, with its world if there are several
	// Wanted is the least number of runs in this campaign or shard.
	Wanted int
	Runs   []Run // that were done
	enough bool  // they settle the matter, although there are fewer than wanted
	// Result combines all runs; its Locks have the figures of all episodes.
	Result *report.Result
	// Odd are locks that did not meet the expectation in a run.
	Odd []Odd
	// Rates are locks whose rate over all seeds differs from the expectation.
	Rates []string
	Cells []Cell // one for each lock of the table
}

// Odd is a lock that did not meet the expectation in one run.
type Odd struct {
	Run
	Lock, Text string
	Code       int // the exit code: the harness failed, the verdict is unknown, or it is another
}

// Table reads the results of the runs that were done.
func (c *Campaign) Table() (*Table, error) { return c.table(newReader(c.Dir)) }

func (c *Campaign) table(read *reader) (*Table, error) {
	t := &Table{Campaign: c}
	for i := range c.Worlds {
		w := &c.Worlds[i]
		first := len(t.Rows)
		for _, job := range w.Jobs {
			runs, err := read.runs(w.World, job)
			if err != nil {
				return nil, err
			}
			r := &Row{Job: job, World: w, Name: job.Scenario, Runs: runs, enough: c.settled(runs)}
			if len(c.Worlds) > 1 {
				r.Name += " · " + w.World
			}
			t.Rows = append(t.Rows, r)
		}
		for r := range c.Runs(w, func(job int) int { return w.Jobs[job].asked() }) {
			t.Rows[first+r.index].Wanted++
		}
		machines := strings.Join(distinct(t.Rows[first:], func(x Run) string { return x.Result.Machine }), "; ") // shards have several
		for _, r := range t.Rows[first:] {
			r.Result = &report.Result{
				Schema: report.SchemaVersion, Scenario: r.Scenario, World: w.World, WorldAbout: w.About, Seed: c.Seed,
				AsExpected: true, Started: c.Started, Program: c.Program, Machine: cmp.Or(machines, c.Machine),
			}
			r.combine()
			if len(r.Runs) == 0 {
				continue
			}
			s, err := c.scenario(r)
			if err != nil {
				return nil, err
			}
			r.judge(s)
		}
	}
	t.draw()
	return t, nil
}

// distinct returns the texts of all runs of some rows, each once.
func distinct(rows []*Row, text func(Run) string) (all []string) {
	for _, r := range rows {
		for _, x := range r.Runs {
			if s := text(x); s != "" && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// combine combines the runs of a row, lock by lock.
func (r *Row) combine() {
	for _, ran := range r.Runs {
		r.Result.Again = cmp.Or(r.Result.Again, ran.Result.Again)
		r.Result.DurationS += ran.Result.DurationS
		r.Result.WorldAbout = ran.Result.WorldAbout
	}
	for _, name := range r.Locks {
		var runs []*report.Lock
		for _, ran := range r.Runs {
			if l := ran.Result.Find(name); l != nil {
				runs = append(runs, l)
			}
		}
		l := together(name, runs)
		if len(r.Runs) == 0 {
			l.Why = r.reason()
		}
		r.Result.Locks = append(r.Result.Locks, l)
	}
}

// together combines the runs of one lock: the worst run, with the figures of all episodes. Other runs do not make up for a
// failure of the harness.
func together(name string, runs []*report.Lock) report.Lock {
	if len(runs) == 0 {
		return report.Lock{Lock: name, Verdict: checker.Unknown, Why: "not run", Options: map[string]string{}}
	}
	var worst *report.Lock
	var figures []stats.Figures
	failure := ""
	for _, r := range runs {
		if r.Error != "" {
			failure = r.Error
			continue
		}
		figures = append(figures, r.Figures)
		if worst == nil || r.Outcome().Look().Severity > worst.Outcome().Look().Severity {
			worst = r
		}
	}
	l := *runs[0]
	if l.Verdict = checker.Unknown; worst != nil {
		l = *worst
	}
	l.Plan, l.Mismatch, l.Error, l.Figures = nil, "", failure, stats.Merge(figures)
	if failed := len(runs) - len(figures); failed > 0 && failed < len(runs) {
		l.Error = fmt.Sprintf("%d of %s: %s", failed, report.Plural(len(runs), "run"), failure)
	}
	return l
}

// judge compares each run of a row with the expectations of its scenario, and then the rates over all runs. The rates of a
// shard are judged after the merge.
func (r *Row) judge(s *scenarios.Scenario) {
	for _, ran := range r.Runs {
		for l := range ran.Result.All() {
			if o, is := oddOf(s, l); is {
				o.Run = ran
				r.Odd = append(r.Odd, o)
			}
		}
	}
	for l := range r.Result.All() {
		if l.Unsupported != "" {
			continue
		}
		l.AsExpected, l.Mismatch = true, ""
		l.Expected, _, _ = run.Expects(s, l)
		if l.Episodes > 0 && r.Wanted == r.asked() {
			if holds, why := run.ExpectsRate(s, l); !holds {
				r.Rates = append(r.Rates, l.Lock+": "+why)
				l.AsExpected, l.Mismatch = false, why
			}
		}
		odd := slices.DeleteFunc(slices.Clone(r.Odd), func(o Odd) bool { return o.Lock != l.Lock })
		if len(odd) > 0 {
			l.AsExpected, l.Mismatch = false, odd[0].Text
			if len(r.Runs) > 1 {
				l.Mismatch += fmt.Sprintf(" (in %d of %s)", len(odd), report.Plural(len(r.Runs), "run"))
			}
		}
		if l.AsExpected {
			l.Counterexample = nil // the runs contain theirs
		}
		r.Result.AsExpected = r.Result.AsExpected && l.AsExpected
	}
}

// oddOf returns the difference from the expectation in one run, ignoring the rate.
func oddOf(s *scenarios.Scenario, l *report.Lock) (Odd, bool) {
	switch {
	case l.Error != "":
		return Odd{Lock: l.Lock, Text: "the harness failed: " + report.OneLine(l.Error), Code: report.ExitHarness}, true
	case l.Unsupported != "":
		return Odd{}, false
	}
	holds, why := run.ExpectsVerdict(s, l)
	if l.Why != "" {
		why += ": " + l.Why
	}
	code := report.ExitUnexpected
	if l.Verdict == checker.Unknown {
		code = report.ExitUnknown
	}
	return Odd{Lock: l.Lock, Text: report.OneLine(why), Code: code}, !holds
}

// runsOf returns the runs of a lock, violated ones first.
func (r *Row) runsOf(lock string) []Run {
	runs := slices.Clone(r.Runs)
	slices.SortStableFunc(runs, func(a, b Run) int {
		switch broke := a.broke(lock); {
		case broke == b.broke(lock):
			return 0
		case broke:
			return -1
		}
		return 1
	})
	return runs
}

// complete reports whether all runs of the row were done.
func (r *Row) complete() bool { return len(r.Runs) >= r.Wanted || r.enough || r.Unable() != "" }

// Unable returns the reason why no lock with servers could take part: the world does not support the scenario. It is empty
// if a lock could, if there are only controls, and before the first run.
func (r *Row) Unable() string {
	if len(r.Runs) == 0 {
		return ""
	}
	return unable(r.Result)
}

// NotRun returns the reason for missing runs, or "".
func (r *Row) NotRun() string {
	if r.complete() {
		return ""
	}
	return cmp.Or(r.World.Missing, r.World.Stopped, "no folder has its result.json")
}

// reason returns the reason why none of the runs was done.
func (r *Row) reason() string {
	if r.Wanted == 0 {
		return "in other shards"
	}
	return "not run: " + r.NotRun()
}

// wrong returns the locks of a row that ran and are not as expected.
func (r *Row) wrong() []*report.Lock {
	var all []*report.Lock
	for l := range r.Result.All() {
		if len(r.Runs) > 0 && l.Odd() {
			all = append(all, l)
		}
	}
	return all
}

// First returns the first sentence about the scenario, which explains its name.
func (r *Row) First() string {
	first, _, _ := strings.Cut(r.About, ". ")
	return first
}

// asExpected returns the number of runs that were as expected.
func (r *Row) asExpected() int {
	odd := map[uint64]bool{}
	for _, o := range r.Odd {
		odd[o.Seed] = true
	}
	return len(r.Runs) - len(odd)
}

// exitCode returns the exit code of a row. It is unknown if runs are missing or a lock that the user named cannot run.
func (r *Row) exitCode() int {
	code := report.ExitExpected
	named := func(l report.Lock) bool { return l.Named && l.Unsupported != "" }
	if !r.complete() || slices.ContainsFunc(r.Result.Locks, named) {
		code = report.ExitUnknown
	}
	if len(r.Rates) > 0 {
		code = report.Worst(code, report.ExitUnexpected)
	}
	for _, o := range r.Odd {
		code = report.Worst(code, o.Code)
	}
	return code
}

// Shown returns the rows of all worlds that are usable here or have runs.
func (t *Table) Shown() []*Row {
	ran := map[*World]bool{}
	for _, r := range t.Rows {
		ran[r.World] = ran[r.World] || len(r.Runs) > 0
	}
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r *Row) bool { return r.World.Missing != "" && !ran[r.World] })
}

// Results returns the rows that have runs.
func (t *Table) Results() (all []*report.Result) {
	for _, r := range t.Rows {
		if len(r.Runs) > 0 {
			all = append(all, r.Result)
		}
	}
	return all
}

// Gone returns an error that names the runs whose histories are missing.
func (t *Table) Gone() error {
	var gone []error
	for _, r := range t.Rows {
		for _, x := range r.Runs {
			gone = append(gone, x.gone)
		}
	}
	return errors.Join(gone...)
}

// Write writes the page, the summary and junit.xml into the campaign's folder.
func (t *Table) Write() error {
	var results []*report.Result
	for _, r := range t.Shown() {
		result := *r.Result
		result.Scenario = r.Name
		results = append(results, &result)
	}
	file := func(name string, w func(io.Writer) error) error {
		return report.WriteFile(filepath.Join(t.Campaign.Dir, name), w)
	}
	return errors.Join(
		file(PageFile, t.page),
		file(report.SummaryFile, t.summary),
		file(report.JUnitFile, func(w io.Writer) error { return report.JUnit(w, results...) }),
	)
}

// Page returns the path of the page.
func (t *Table) Page() string { return filepath.Join(t.Campaign.Dir, PageFile) }

// provenance describes the origin of the campaign and of the runs in each world.
func (t *Table) provenance() []string {
	c := t.Campaign
	all := []string{"begun " + stamp(c.Started), c.Program, c.Machine}
	for i := range c.Worlds {
		w := &c.Worlds[i]
		rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r *Row) bool { return r.World != w })
		about := w.About
		if abouts := distinct(rows, func(x Run) string { return x.Result.WorldAbout }); about == "" && len(abouts) > 0 {
			about = abouts[0]
		}
		parts := []string{"world " + w.World, about,
			strings.Join(distinct(rows, func(x Run) string { return x.Result.Machine }), "; "),
			strings.Join(distinct(rows, func(x Run) string { return x.Result.Program }), "; ")}
		if began := distinct(rows, func(x Run) string { return stamp(x.Result.Started) }); len(began) > 0 {
			parts = append(parts, "begun "+slices.Min(began))
		}
		all = append(all, strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · "))
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
