package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/history"
)

// Column is one column of a table with a row for each lock, on the screen, in the summary and on the page.
type Column struct {
	Title string
	Right bool // figures stand to the right
	Cell  func(l *Lock) string
}

// Columns are the table of locks. The last one, the mark, has no title.
var Columns = []Column{
	{"LOCK", false, func(l *Lock) string { return OneLine(l.Lock) }},
	{"SERVERS", false, func(l *Lock) string { return OneLine(l.servers()) }},
	{VerdictTitle, false, func(l *Lock) string {
		if class := l.ShownClass(); class != "" { // the padding aligns the classes
			return pad(l.Outcome().Look().Word, len("violated")) + "  " + class
		}
		return l.Outcome().Look().Word
	}},
	figure("EPISODES", func(l *Lock) string { return fmt.Sprintf("%d of %d", l.ViolatingEpisodes, l.Telling()) }),
	figure("LOST", func(l *Lock) string { return Count(l.LostUpdates) }),
	figure("GRANTS", func(l *Lock) string { return Count(l.Acquires.OK) }),
	figure("OUTAGE", func(l *Lock) string {
		if l.Control() { // a control has no servers
			return missing
		}
		return Seconds(l.OutageS)
	}),
	figure("P99", func(l *Lock) string {
		if acquire, ok := l.LatencyMS[history.Acquire]; ok {
			return Millis(acquire.P99)
		}
		return missing
	}),
	{"", false, func(l *Lock) string { return l.Mark() }},
}

// VerdictTitle is the title of the column with the verdict and its class.
const VerdictTitle = "VERDICT"

// missing stands in place of a figure.
const missing = "-"

// cells are the texts of a table, without its head.
func cells(columns []Column, r *Result) [][]string {
	all := make([][]string, len(r.Locks))
	for i := range r.Locks {
		for _, c := range columns {
			all[i] = append(all[i], c.Cell(&r.Locks[i]))
		}
	}
	return all
}

func (l *Lock) servers() string {
	if l.Servers != "" {
		return l.Servers
	}
	if l.Control() {
		return "control"
	}
	return string(l.Topology)
}

// ShownClass is the class of the verdict, or the rule of the first finding if no finding has a class. It is empty if there is
// no verdict.
func (l *Lock) ShownClass() string {
	if !l.judged() {
		return ""
	}
	if f, found := l.FirstFinding(); found && l.Class == checker.NoClass {
		return f.Rule
	}
	return l.Class.String()
}

// Remark explains an unknown or unexpected verdict, and names further findings. It is empty for most locks.
func (l *Lock) Remark() string {
	switch {
	case l.Error != "":
		return l.Lock + ": the harness failed, no verdict: " + OneLine(l.Error)
	case l.Unsupported != "":
		return l.Lock + ": unsupported here: " + OneLine(l.Unsupported)
	}
	var parts []string
	if l.Wrong {
		parts = append(parts, "wrong on purpose, so it has no expectation")
	}
	if !l.AsExpected {
		parts = append(parts, l.unexpected())
	}
	if why := OneLine(l.Why); why != "" && !strings.Contains(strings.Join(parts, "; "), why) { // a campaign's mismatch has it
		parts = append(parts, why)
	}
	if l.Remedy != "" {
		parts = append(parts, l.Remedy)
	}
	if harness, _ := l.Check(checker.Harness); l.Uncounted > 0 && l.Verdict == checker.Valid {
		parts = append(parts, OneLine(harness.Note))
	}
	if also := l.also(); also != "" {
		parts = append(parts, also)
	}
	if port := l.port(); port != "" {
		parts = append(parts, "an old result of the Go port, which is named "+port+" now")
	}
	if len(parts) == 0 {
		return ""
	}
	return l.Lock + ": " + strings.Join(parts, "; ")
}

// formerPorts are names that belonged to the Go ports of Redisson's locks.
var formerPorts = []string{
	"redisson", "redisson-fair", "redisson-rw", "redisson-fenced", "redisson-spin", "redisson-wait", "redisson-multi", "redisson-redlock",
}

// port returns the name today of a Go port of Redisson that was recorded under its former name, or "". Redisson itself notifies no
// holder of a loss, so it never claims watched.
func (l *Lock) port() string {
	name, _, _ := strings.Cut(l.Lock, "/")
	if !l.Claims.Watched || !slices.Contains(formerPorts, name) {
		return ""
	}
	return strings.Replace(name, "redisson", "redisson-port", 1)
}

// also names findings of other checkers than that of the verdict. It is empty for controls.
func (l *Lock) also() string {
	told, ok := l.FirstFinding()
	if !ok || l.Control() {
		return ""
	}
	var parts []string
	for _, c := range l.Checks {
		rules := c.Apart(l.Class)
		if len(rules) == 0 || slices.ContainsFunc(c.Findings, func(f checker.Finding) bool {
			return f.Rule == told.Rule && f.Event == told.Event
		}) {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %s (%s)", c.Name, Plural(c.Violations, "finding"), strings.Join(rules, ", ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "also " + strings.Join(parts, "; ")
}

// unexpected describes the difference from the expectation.
func (l *Lock) unexpected() string {
	return OneLine(cmp.Or(l.Mismatch, fmt.Sprintf("expected %s, found %s", cmp.Or(l.Expected, "valid"), l.Found())))
}
