package matrix

import (
	"fmt"
	"io"
	"strings"

	"lockbench/internal/report"
)

// summary writes summary.md: the heat map in words, what is not as expected, and the
// command. It stays below the limit of report.SummaryMax, whatever the matrix: what
// does not fit is left out from the end, and it says so.
func (m *Matrix) summary(w io.Writer) error {
	var b strings.Builder
	outcome := map[int]string{report.ExitExpected: "as expected", report.ExitUnexpected: "not as expected",
		report.ExitUnknown: "undecided in part", report.ExitHarness: "the harness failed in part"}[m.ExitCode()]
	fmt.Fprintf(&b, "# lockbench matrix: %s\n\nSeed %d · %s · world %s · %s\n\n", outcome, m.Seed, report.Plural(len(m.Rows), "scenario"),
		report.MarkdownText(m.World), report.MarkdownText(m.Machine))
	var from []string
	for _, x := range m.provenance() {
		if x[0] == "servers" || x[0] == "program" || x[0] == "begun" {
			from = append(from, report.MarkdownText(x[1]))
		}
	}
	fmt.Fprintf(&b, "%s\n\n", strings.Join(from, " · "))
	foot := ""
	if m.Again != "" {
		foot = "Again: `" + strings.ReplaceAll(m.Again, "`", "'") + "`\n"
		foot = foot[:min(len(foot), 4<<10)]
	}
	const reserve = 600 // for the lines that end it
	full := false
	add := func(text string) {
		if full || b.Len()+len(text)+len(foot)+reserve > report.SummaryMax {
			full = true
			return
		}
		b.WriteString(text)
	}
	var odd []string
	for i := range m.Rows {
		r := &m.Rows[i]
		for j := range r.Result.Locks {
			l := &r.Result.Locks[j]
			if r.NotRun == "" && l.Unsupported == "" && (!l.AsExpected || l.Error != "") {
				odd = append(odd, report.MarkdownText(r.Result.Scenario+", "+l.Remark()))
			}
		}
		if r.NotRun != "" {
			odd = append(odd, report.MarkdownText(r.Result.Scenario+": "+r.NotRun))
		}
	}
	if len(odd) > 0 {
		add("## Not as expected, or not run\n\n")
		for _, text := range odd {
			add("- " + text + "\n")
		}
		add("\n")
	}
	columns := m.locks()
	head, rule := "| scenario |", "| --- |"
	for _, c := range columns {
		head += " " + report.MarkdownText(c.Name) + " |"
		rule += " --- |"
	}
	add("## Verdicts\n\n" + head + "\n" + rule + "\n")
	for i := range m.Rows {
		r := &m.Rows[i]
		line := "| " + report.MarkdownText(r.Result.Scenario) + " |"
		for _, c := range columns {
			text := ""
			if l := r.lock(c.Name); l != nil {
				v := m.cellOf(r, l)
				text = strings.Join(strings.Fields(v.Sign+" "+v.Rate+" "+v.Word+" "+v.After), " ")
				if v.Wrong {
					text += " **✗**"
				}
			}
			line += " " + text + " |"
		}
		add(line + "\n")
	}
	if full {
		b.WriteString("\nThis is not all: the rest did not fit here, and stands in report.html and matrix.json.\n")
	}
	b.WriteString("\n○ held: nothing found, never safe · ◐ overstay: no lease prevents it · ● two held and neither had a reason to doubt it · ✗ not what the scenario expects · after: median time from the beginning of an episode to its first violation\n\n" + foot)
	_, err := io.WriteString(w, b.String())
	return err
}
