package campaign

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// Screen returns the final output: the verdicts, unexpected results and missing runs.
func (t *Table) Screen(columns int) []string {
	text := t.screen(columns)
	for _, why := range t.missing() {
		text = append(text, "Not run: "+why)
	}
	for _, r := range t.Shown() {
		for _, l := range r.wrong() {
			text = append(text, fmt.Sprintf("%s %s, %s", l.Mark(), r.Name, l.Remark()))
		}
	}
	return append(text, t.Counts())
}

// screen returns the table with its legend, divided into tables that are not wider than the screen.
func (t *Table) screen(columns int) []string {
	var text []string
	for from := 0; from < len(t.Locks); {
		to := from + 1
		part := aligned(t.text(from, to, wrongSign))
		for ; to < len(t.Locks); to++ {
			wider := aligned(t.text(from, to+1, wrongSign))
			if slices.ContainsFunc(wider, func(line string) bool { return utf8.RuneCountInString(line) > columns }) {
				break
			}
			part = wider
		}
		text, from = append(append(text, part...), ""), to
	}
	if len(text) == 0 {
		return nil
	}
	var cells []Cell
	for _, r := range t.Shown() {
		cells = append(cells, r.Cells...)
	}
	var means []string
	for _, outcome := range report.Outcomes() {
		look := outcome.Look()
		if slices.ContainsFunc(cells, func(c Cell) bool { return c.Sign == look.Sign }) {
			means = append(means, look.Sign+" "+look.Label)
		}
	}
	if slices.ContainsFunc(cells, func(c Cell) bool { return c.Wrong }) {
		means = append(means, wrongSign+" not what the scenario expects")
	}
	text = append(text, strings.Join(means, " · "))
	if fewest := fewestHeld(cells); fewest > 0 {
		_, high := stats.Bounds(0, fewest)
		text = append(text, fmt.Sprintf("%s 0/%d allows a rate of up to %s (95 %%)", report.Held.Look().Sign, fewest, report.Percent(high)))
	}
	return append(text, "")
}

// fewestHeld returns the smallest number of episodes in which a lock held; 0: no lock held.
func fewestHeld(cells []Cell) (fewest int) {
	for _, c := range cells {
		if c.Episodes > 0 && (fewest == 0 || c.Episodes < fewest) {
			fewest = c.Episodes
		}
	}
	return fewest
}

// aligned formats the rows of a table with aligned columns.
func aligned(table [][]string) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range table {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")) // a strings.Builder never fails
	}
	_ = w.Flush()
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return lines
}
