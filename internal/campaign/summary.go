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
	if len(c.Worlds) > 1 || c.Seeds != "" {
		add("## Runs\n\n")
		markdownTable(add, c.overview())
		add(overviewKey + "\n\n")
	}
	for i := range c.Worlds {
		rows := c.Worlds[i].lines()
		if len(rows) == 0 {
			continue
		}
		add("## Verdicts in world " + c.Worlds[i].World + "\n\n")
		c.trusted(add, rows)
		for _, of := range groups(c.columns(rows)) {
			if of[0].Control {
				continue // a sentence below
			}
			for part := range slices.Chunk(of, columnsMax) {
				markdownTable(add, c.heat(rows, of[0].group.name, part, "**"+wrongSign+"**"))
			}
		}
		if text := c.controls(rows); text != "" {
			add(text + "\n\n")
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

// trusted writes a line for each lock with the scenarios in which it held and broke.
func (c *Campaign) trusted(add func(string), rows []line) {
	all := c.trust(rows)
	if len(all) == 0 {
		return
	}
	titles := []string{"lock", "○ held in", "● ■ broke under, its own fault", "◐ overstayed under, as every lease does", "? ! undecided"}
	if !slices.ContainsFunc(all, func(t trust) bool { return len(t.Unsure) > 0 }) {
		titles = titles[:4]
	}
	add(report.MarkdownHead(titles))
	for _, t := range all {
		overstay := slices.Clone(t.Overstay)
		for _, name := range t.Fenced {
			overstay = append(overstay, name+" (fenced)")
		}
		held := ""
		if t.Tried > 0 {
			held = fmt.Sprintf("%d of %d", len(t.Held), t.Tried)
		}
		cells := []string{"**" + report.MarkdownText(t.Lock) + "**", held, names(t.Broken), names(overstay), names(t.Unsure)}
		add(report.MarkdownRow(cells[:len(titles)]))
	}
	add("\n")
}

// names returns a list of scenarios for a cell.
func names(all []string) string {
	safe := make([]string, len(all))
	for i, name := range all {
		safe[i] = report.MarkdownText(name)
	}
	return strings.Join(safe, ", ")
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

// heat returns the heat map of some locks, with the rows that run any of them.
func (c *Campaign) heat(rows []line, title string, of []column, wrong string) [][]string {
	head := []string{title}
	for _, column := range of {
		head = append(head, column.Name)
	}
	table := [][]string{head}
	for _, r := range rows {
		row, any := []string{r.name}, false
		for _, column := range of {
			text := ""
			if l := r.Result.Find(column.Name); l != nil {
				text, any = c.cellOf(r, l).short(wrong), true
			}
			row = append(row, text)
		}
		if any {
			table = append(table, row)
		}
	}
	return table
}

// wrongSign marks a cell that is not as expected.
const wrongSign = "✗"

// short returns a cell as symbols without line breaks.
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

// controls describes the results of locks without servers in a sentence.
func (c *Campaign) controls(rows []line) string {
	var said []string
	for _, t := range c.tally(rows) {
		if !t.Control {
			continue
		}
		held, unsure := len(t.Held), len(t.Unsure)
		text := report.MarkdownText(t.Lock)
		switch broke := t.Tried - held - unsure; {
		case t.Tried == 0:
			text += " could not run"
		case broke == 0:
			text += fmt.Sprintf(" held in %d of %d", held, t.Tried)
		default:
			text += fmt.Sprintf(" broke in %d of %d", broke, t.Tried)
		}
		if unsure > 0 {
			text += fmt.Sprintf(" and was undecided in %d", unsure)
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return ""
	}
	return "Controls, locks without servers that test lockbench itself: " + strings.Join(said, " · ") + "."
}
