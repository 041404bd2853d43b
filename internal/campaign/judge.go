package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/scenarios"
)

// Odd is a lock that did not meet the expectation in one run.
type Odd struct {
	Seed  uint64 `json:"seed"`
	Lock  string `json:"lock"`
	Text  string `json:"text"`
	Dir   string `json:"dir"` // of the run, relative to the campaign, with slashes
	Again string `json:"again"`
	// Harness means that lockbench failed, Undecided that the verdict is unknown.
	Harness   bool `json:"harness,omitempty"`
	Undecided bool `json:"undecided,omitempty"`
}

func (o *Odd) exitCode() int {
	switch {
	case o.Harness:
		return report.ExitHarness
	case o.Undecided:
		return report.ExitUnknown
	}
	return report.ExitUnexpected
}

// judge compares each run of a row with the expectations of its scenario, and then the rates over all runs. The rates of a
// shard are judged after the merge.
func (r *Row) judge(s *scenarios.Scenario) {
	for _, ran := range r.Runs {
		for i := range ran.result.Locks {
			if o, is := oddOf(s, &ran.result.Locks[i]); is {
				o.Seed, o.Dir, o.Again = ran.Seed, ran.Dir, ran.Again
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
		if l.Episodes > 0 && r.Elsewhere == 0 {
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
		return Odd{Lock: l.Lock, Text: "the harness failed: " + report.OneLine(l.Error), Harness: true}, true
	case l.Unsupported != "":
		return Odd{}, false
	}
	holds, why := run.ExpectsVerdict(s, l)
	if l.Why != "" {
		why += ": " + l.Why
	}
	return Odd{Lock: l.Lock, Text: report.OneLine(why), Undecided: l.Verdict == checker.Unknown}, !holds
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
	if !r.complete() || r.Result != nil && slices.ContainsFunc(r.Result.Locks, named) {
		code = report.ExitUnknown
	}
	if len(r.Rates) > 0 {
		code = report.Worst(code, report.ExitUnexpected)
	}
	for _, o := range r.Odd {
		code = report.Worst(code, o.exitCode())
	}
	return code
}

// ExitCode is 0 only if all runs were done and as expected. If no lock with servers could run, it is unknown.
func (c *Campaign) ExitCode() int {
	code, tried := report.ExitExpected, false
	for _, w := range c.Worlds {
		for i := range w.Rows {
			r := &w.Rows[i]
			tried = tried || len(r.Runs) > 0 && r.Unable() == ""
			code = report.Worst(code, r.exitCode())
		}
	}
	if !tried {
		return report.Worst(code, report.ExitUnknown)
	}
	return code
}

// any reports whether a row has a property.
func (c *Campaign) any(property func(*Row) bool) bool {
	return slices.ContainsFunc(c.Worlds, func(w World) bool {
		return slices.ContainsFunc(w.Rows, func(r Row) bool { return property(&r) })
	})
}

// Done reports whether all runs of the campaign or shard were done.
func (c *Campaign) Done() bool { return !c.any(func(r *Row) bool { return !r.complete() }) }

// ShardExitCode is the exit code of a shard. Batch engines repeat a task that does not exit with 0, and a repetition
// cannot change a verdict, so a violation exits with 0 here; merge reports it.
func (c *Campaign) ShardExitCode() int {
	failed := func(r *Row) bool { return slices.ContainsFunc(r.Odd, func(o Odd) bool { return o.Harness }) }
	switch {
	case c.any(failed):
		return report.ExitHarness
	case !c.Done():
		return report.ExitUnknown
	}
	return report.ExitExpected
}

// Outcome summarizes the result in a few words.
func (c *Campaign) Outcome() string {
	code := c.ExitCode()
	if code == report.ExitUnknown && !c.Done() && !c.any(func(r *Row) bool { return len(r.Odd) > 0 }) {
		return "as expected, but not all runs were done"
	}
	return report.Exits[code].Many
}

// Counts summarizes how many runs were done and as expected.
func (c *Campaign) Counts() string {
	asked, ran, good, unable := 0, 0, 0, 0
	for _, w := range c.Worlds {
		for _, r := range w.Rows {
			if r.Unable() != "" {
				unable++
				continue
			}
			asked, ran, good = asked+max(r.wanted(), len(r.Runs)), ran+len(r.Runs), good+r.asExpected()
		}
	}
	text := fmt.Sprintf("%s asked for, %s run, %s of these as expected", report.Plural(asked, "run"), report.Count(ran), report.Count(good))
	if unable > 0 {
		text += fmt.Sprintf("; %s beyond what its world can do", report.Plural(unable, "scenario"))
	}
	return text
}

// notRun lists missing runs and the reasons, one line for each reason.
func (c *Campaign) notRun() []string {
	var all []string
	for _, w := range c.Worlds {
		var left gathered
		if w.Missing != "" {
			all = append(all, "world "+w.World+": "+w.Missing)
		}
		for _, r := range w.Rows {
			switch {
			case r.Unable() != "":
				left.add("the world cannot run it: "+r.Unable(), r.Scenario)
			case !r.complete() && (w.Missing == "" || r.NotRun != w.Missing):
				left.add(fmt.Sprintf("%d of %s not run: %s", r.wanted()-len(r.Runs), report.Plural(r.wanted(), "run"), cmp.Or(r.NotRun, "the reason is unknown")), r.Scenario)
			}
		}
		for _, what := range left.order {
			all = append(all, fmt.Sprintf("%s, world %s: %s", strings.Join(left.scenarios[what], ", "), w.World, what))
		}
	}
	return all
}
