package campaign

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/internal/report"
)

// columnsMax is how many locks stand side by side in summary.md: about what a page of a
// forge shows without scrolling.
const columnsMax = 8

// key ends the tables. What shows them elsewhere looks for its first sign.
const key = "○ held: nothing found, never safe · ◐ overstay: a holder worked on after its own lease, which no lease prevents; \"fenced\": and its fence kept the resource whole · " +
	"● two held and neither had a reason to doubt it · ■ another promise was broken, such as that a lock becomes free again · ◔ a stale write was let through · ◕ two held, and nobody knows until when they could believe it · " +
	"? undecided · ! the harness failed · – cannot run in this world · … not run · blank: not in the scenario · **✗** not what the scenario expects. " +
	"3/5 2.2 s: broke in three of five episodes, the median of the time until it did."

// summary writes summary.md: the heat map in words, what is not as expected, and the
// command. It stays below the limit of report.SummaryMax, whatever the matrix: what
// does not fit is left out from the end, and it says so.
func (m *matrix) summary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# lockbench matrix: %s\n\nSeed %d · %s · world %s · %s\n\n", outcomes[m.exitCode()], m.of.Seed, report.Plural(len(m.Rows), "scenario"),
		report.MarkdownText(m.World.World), report.MarkdownText(m.machine()))
	var from []string
	for _, x := range m.provenance() {
		if x[0] == "servers" || x[0] == "program" || x[0] == "begun" {
			from = append(from, report.MarkdownText(x[1]))
		}
	}
	fmt.Fprintf(&b, "%s\n\n", strings.Join(from, " · "))
	foot := ""
	if again := cmp.Or(m.Again, m.of.Again); again != "" {
		foot = "Again: `" + strings.ReplaceAll(again, "`", "'") + "`\n"
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
	var odd []string
	for i := range m.Rows {
		r := &m.Rows[i]
		for _, l := range r.wrong() {
			odd = append(odd, report.MarkdownText(r.Scenario+", "+l.Remark()))
		}
		if why := r.notRun(); why != "" {
			odd = append(odd, report.MarkdownText(r.Scenario+": "+why))
		}
	}
	if len(odd) > 0 {
		add("## Not as expected, or not run\n\n")
		for _, text := range odd {
			add("- " + text + "\n")
		}
		add("\n")
	}
	add("## Verdicts\n\n")
	m.overview(add)
	for _, of := range m.columnGroups() {
		for part := range slices.Chunk(of, columnsMax) {
			m.table(add, of[0].group.name, part)
		}
	}
	if text := m.controls(); text != "" {
		add(text + "\n\n")
	}
	if full {
		b.WriteString("This is not all: the rest did not fit here, and stands in report.html and campaign.json.\n\n")
	}
	b.WriteString(key + "\n\n" + foot)
	_, err := io.WriteString(w, b.String())
	return err
}

// overview is a line for each lock: what one may trust it with, and what not.
func (m *matrix) overview(add func(string)) {
	all := m.trust()
	if len(all) == 0 {
		return
	}
	unsure := slices.ContainsFunc(all, func(t trust) bool { return len(t.Unsure) > 0 })
	head, rule := "| lock | ○ held in | ● ■ broke under, its own fault | ◐ overstayed under, as every lease does |", "| --- | --- | --- | --- |"
	if unsure {
		head, rule = head+" ? ! undecided |", rule+" --- |"
	}
	add(head + "\n" + rule + "\n")
	for _, t := range all {
		overstay := slices.Clone(t.Overstay)
		for _, name := range t.Fenced {
			overstay = append(overstay, name+" (fenced)")
		}
		line := "| **" + report.MarkdownText(t.Lock) + "** | "
		if t.Tried > 0 {
			line += fmt.Sprintf("%d of %d", len(t.Held), t.Tried)
		}
		line += " | " + names(t.Broken) + " | " + names(overstay) + " |"
		if unsure {
			line += " " + names(t.Unsure) + " |"
		}
		add(line + "\n")
	}
	add("\n")
}

// names are those of scenarios in a cell.
func names(all []string) string {
	safe := make([]string, len(all))
	for i, name := range all {
		safe[i] = report.MarkdownText(name)
	}
	return strings.Join(safe, ", ")
}

// columnGroups are the locks that stand side by side, without the controls.
func (m *matrix) columnGroups() [][]column {
	var all [][]column
	columns := m.locks()
	for len(columns) > 0 {
		of := columns[0].group
		n := slices.IndexFunc(columns, func(c column) bool { return c.group != of })
		if n < 0 {
			n = len(columns)
		}
		if of != controls {
			all = append(all, columns[:n])
		}
		columns = columns[n:]
	}
	return all
}

// table is a heat map in Markdown.
func (m *matrix) table(add func(string), title string, of []column) {
	for i, row := range m.heat(title, of, "**"+wrongSign+"**") {
		line := "|"
		for j, cell := range row {
			if name := i == 0 && j > 0 || i > 0 && j == 0; name {
				cell = report.MarkdownText(cell)
			}
			line += " " + cell + " |"
		}
		add(line + "\n")
		if i == 0 {
			add("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	add("\n")
}

// heat is the heat map of some locks, with the scenarios that run any of them.
func (m *matrix) heat(title string, of []column, wrong string) [][]string {
	head := []string{title}
	for _, c := range of {
		head = append(head, c.Name)
	}
	table := [][]string{head}
	for i := range m.Rows {
		r := &m.Rows[i]
		row, any := []string{r.Scenario}, false
		for _, c := range of {
			text := ""
			if l := r.lock(c.Name); l != nil {
				text, any = m.cellOf(r, l).short(wrong), true
			}
			row = append(row, text)
		}
		if any {
			table = append(table, row)
		}
	}
	return table
}

// wrongSign is at the end of a cell that is not as its scenario expects.
const wrongSign = "✗"

// short is a cell in a few signs: what belongs together stays on one line.
func (c cellView) short(wrong string) string {
	text := c.Sign
	if c.Rate != "" {
		text += " " + c.Rate
	}
	if c.After != "" {
		text += " " + strings.TrimPrefix(c.After, "after ")
	}
	if c.Fenced {
		text += " fenced"
	}
	if c.Wrong {
		text += " " + wrong
	}
	return text
}

// controls says what became of the locks without servers, in a sentence.
func (m *matrix) controls() string {
	var said []string
	for _, c := range m.locks() {
		if !c.Control {
			continue
		}
		held, broke, other := 0, 0, 0
		for i := range m.Rows {
			if l := m.Rows[i].lock(c.Name); l != nil {
				switch look(&m.Rows[i], l) {
				case "none", "notrun":
				case "valid":
					held++
				case "unknown", "failed":
					other++
				default:
					broke++
				}
			}
		}
		tried := held + broke + other
		text := report.MarkdownText(c.Name)
		switch {
		case tried == 0:
			text += " could not run"
		case broke == 0:
			text += fmt.Sprintf(" held in %d of %d", held, tried)
		default:
			text += fmt.Sprintf(" broke in %d of %d", broke, tried)
		}
		if other > 0 {
			text += fmt.Sprintf(" and was undecided in %d", other)
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return ""
	}
	return "Controls, locks without servers that say something about lockbench: " + strings.Join(said, " · ") + "."
}
