package campaign

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// columnsMax is the number of locks in a table of summary.md that GitHub shows without scrolling.
const columnsMax = 8

// key is the legend of the tables. Other programs find it by its first symbol.
const key = "○ held: nothing found, never safe · ◐ overstay: a holder worked on after its own lease, which no lease prevents; \"fenced\": and its fence kept the resource whole · " +
	"● two held and neither had a reason to doubt it · ■ another guarantee was broken, such as that a lock becomes free again · ◔ a stale write was let through · ◕ two held, and it is unknown how long one could believe in its lease · " +
	"? undecided · ! the harness failed · – cannot run in this world · … not run · blank: not in the scenario · **✗** not what the scenario expects. " +
	"3/5 2.2 s: broke in three of five episodes, the median of the time until it did."

// summary writes summary.md: unexpected results with the commands that repeat them, missing runs, and the verdicts. It
// leaves out parts at the end that exceed report.SummaryMax, and then reports that.
func (c *Campaign) summary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# lockbench matrix: %s\n\n%s. Seeds from %d · %s · %s · %s\n\n", c.Outcome(), c.Counts(), c.Seed,
		report.MarkdownText(c.Machine), report.MarkdownText(c.Program), stamp(c.Started))
	foot := ""
	if c.Again != "" {
		foot = "Again: `" + strings.ReplaceAll(c.Again, "`", "'") + "`\n"
		foot = foot[:min(len(foot), 4<<10)]
	}
	const reserve = 1000 // for the lines that end it
	full := false
	add := func(text string) {
		if full || b.Len()+len(text)+len(foot)+reserve > report.SummaryMax {
			full = true
			return
		}
		b.WriteString(text)
	}
	section := func(title string, text []string) {
		if len(text) == 0 {
			return
		}
		add("## " + title + "\n\n")
		for _, t := range text {
			add("- " + t + "\n")
		}
		add("\n")
	}
	var odd, notRun, from []string
	for _, r := range c.lines() {
		for _, rate := range r.Rates {
			odd = append(odd, fmt.Sprintf("%s, all seeds together: %s", r.name, report.MarkdownText(rate)))
		}
		for _, o := range r.Odd {
			odd = append(odd, fmt.Sprintf("%s, [seed %d](%s), %s: %s\n  `%s`", report.MarkdownText(r.name), o.Seed,
				page.Href(o.Dir+"/"+report.SummaryFile), report.MarkdownText(o.Lock), report.MarkdownText(o.Text), o.Again))
		}
	}
	for _, text := range c.notRun() {
		notRun = append(notRun, report.MarkdownText(text))
	}
	for _, x := range c.provenance() {
		if strings.HasPrefix(x[0], "world ") {
			from = append(from, report.MarkdownText(x[0]+": "+x[1]))
		}
	}
	section("Not as expected, each with the command that repeats it", odd)
	section("Not run", notRun)
	if t := c.table(c.lines()); len(t.Locks) > 0 {
		add("## Verdicts\n\n")
		for at := 0; at < len(t.Locks); at += columnsMax {
			markdownTable(add, t.text(at, min(at+columnsMax, len(t.Locks)), "**"+wrongSign+"**"))
		}
	}
	section("Where and with what", from)
	if full {
		b.WriteString("The summary is incomplete; report.html and campaign.json contain the rest.\n\n")
	}
	b.WriteString(key + "\n\n" + foot)
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownTable writes a table whose first row is the head. The names in its first row and column can be any text.
func markdownTable(add func(string), table [][]string) {
	for i, row := range table {
		row = slices.Clone(row)
		if i > 0 {
			row[0] = report.MarkdownText(row[0])
			add(report.MarkdownRow(row))
			continue
		}
		for j := range row {
			row[j] = report.MarkdownText(row[j])
		}
		add(report.MarkdownHead(row))
	}
	add("\n")
}
