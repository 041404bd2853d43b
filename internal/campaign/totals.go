package campaign

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/report"
)

// ExitCode is 0 only if all runs were done and as expected. If no lock with servers could run, it is unknown.
func (t *Table) ExitCode() int {
	code, tried := report.ExitExpected, false
	for _, r := range t.Rows {
		tried = tried || len(r.Runs) > 0 && r.Unable() == ""
		code = report.Worst(code, r.exitCode())
	}
	if !tried {
		return report.Worst(code, report.ExitUnknown)
	}
	return code
}

// Done reports whether all runs of the campaign or shard were done.
func (t *Table) Done() bool {
	return !slices.ContainsFunc(t.Rows, func(r *Row) bool { return !r.complete() })
}

// odd returns the locks that were not as expected in a run.
func (t *Table) odd() (all []Odd) {
	for _, r := range t.Rows {
		all = append(all, r.Odd...)
	}
	return all
}

// ShardExitCode is the exit code of a shard. Batch engines repeat a task that does not exit with 0, and a repetition
// cannot change a verdict, so a violation exits with 0 here; merge reports it.
func (t *Table) ShardExitCode() int {
	switch {
	case slices.ContainsFunc(t.odd(), func(o Odd) bool { return o.Code == report.ExitHarness }):
		return report.ExitHarness
	case !t.Done():
		return report.ExitUnknown
	}
	return report.ExitExpected
}

// Outcome summarizes the result in a few words.
func (t *Table) Outcome() string {
	code := t.ExitCode()
	if code == report.ExitUnknown && !t.Done() && len(t.odd()) == 0 {
		return "as expected, but not all runs were done"
	}
	return report.Exits[code].Many
}

// ExitLine explains the exit code and names the scenarios that cause it.
func (t *Table) ExitLine() string {
	code := t.ExitCode()
	var reasons []string
	for _, r := range t.Shown() {
		if code != report.ExitExpected && r.exitCode() == code {
			reasons = append(reasons, report.OneLine(r.Name))
		}
	}
	text := fmt.Sprintf("Exit %d: %s", code, t.Outcome())
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	return text + "."
}

// Ran returns the number of runs that were done.
func (t *Table) Ran() int {
	n := 0
	for _, r := range t.Rows {
		n += len(r.Runs)
	}
	return n
}

// Counts summarizes how many runs were done and as expected.
func (t *Table) Counts() string {
	asked, ran, good, unable := 0, 0, 0, 0
	for _, r := range t.Rows {
		if r.Unable() != "" {
			unable++
			continue
		}
		asked, ran, good = asked+max(r.Wanted, len(r.Runs)), ran+len(r.Runs), good+r.asExpected()
	}
	text := fmt.Sprintf("%s asked for, %s run, %s of these as expected", report.Plural(asked, "run"), report.Count(ran), report.Count(good))
	if unable > 0 {
		text += fmt.Sprintf("; no lock takes part in %s", report.Plural(unable, "scenario"))
	}
	return text
}

// missing lists missing runs and the reasons, one line for each reason.
func (t *Table) missing() []string {
	var all []string
	for i := range t.Campaign.Worlds {
		w := &t.Campaign.Worlds[i]
		if w.Missing != "" {
			all = append(all, "world "+w.World+": "+w.Missing)
		}
		var reasons []string
		names := map[string][]string{} // of scenarios, by reason
		for _, r := range t.Rows {
			why := ""
			switch {
			case r.World != w:
			case r.Unable() != "":
				why = "no lock takes part: " + r.Unable()
			case !r.complete() && w.Missing == "":
				why = fmt.Sprintf("%d of %s not run: %s", r.Wanted-len(r.Runs), report.Plural(r.Wanted, "run"), r.NotRun())
			}
			if why == "" {
				continue
			}
			if names[why] == nil {
				reasons = append(reasons, why)
			}
			names[why] = append(names[why], r.Scenario)
		}
		for _, why := range reasons {
			all = append(all, fmt.Sprintf("%s, world %s: %s", strings.Join(names[why], ", "), w.World, why))
		}
	}
	return all
}
