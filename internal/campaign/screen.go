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
func (c *Campaign) Screen(columns int) []string {
	rows := c.lines()
	text := c.table(rows).screen(columns)
	for _, why := range c.notRun() {
		text = append(text, "Not run: "+why)
	}
	for _, r := range rows {
		for _, l := range r.wrong() {
			text = append(text, fmt.Sprintf("%s %s, %s", l.Mark(), r.name, l.Remark()))
		}
	}
	return append(text, c.Counts())
}

// screen returns the table with its legend, divided into tables that are not wider than the screen.
func (t table) screen(columns int) []string {
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
	var means []string
	for _, outcome := range report.Outcomes() {
		look := outcome.Look()
		if t.has(func(c cell) bool { return c.Sign == look.Sign }) {
			means = append(means, look.Sign+" "+look.Label)
		}
	}
	if t.has(func(c cell) bool { return c.Wrong }) {
		means = append(means, wrongSign+" not what the scenario expects")
	}
	text = append(text, strings.Join(means, " · "))
	if fewest := t.fewestHeld(); fewest > 0 {
		_, high := stats.Bounds(0, fewest)
		text = append(text, fmt.Sprintf("○ 0/%d allows a rate of up to %s (95 %%)", fewest, report.Percent(high)))
	}
	return append(text, "")
}

// fewestHeld returns the smallest number of episodes in which a lock held; 0: no lock held.
func (t table) fewestHeld() (fewest int) {
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			if c.Episodes > 0 && (fewest == 0 || c.Episodes < fewest) {
				fewest = c.Episodes
			}
		}
	}
	return fewest
}

// has reports whether any cell has a property.
func (t table) has(property func(cell) bool) bool {
	return slices.ContainsFunc(t.Rows, func(r tableRow) bool { return slices.ContainsFunc(r.Cells, property) })
}

// gathered are texts with the scenarios to which they apply, in order.
type gathered struct {
	order     []string
	scenarios map[string][]string
}

func (g *gathered) add(what, scenario string) {
	if g.scenarios == nil {
		g.scenarios = map[string][]string{}
	}
	if g.scenarios[what] == nil {
		g.order = append(g.order, what)
	}
	g.scenarios[what] = append(g.scenarios[what], scenario)
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

// ExitLine explains the exit code and names the scenarios that cause it.
func (c *Campaign) ExitLine() string {
	code := c.ExitCode()
	var reasons []string
	for _, r := range c.lines() {
		if code != report.ExitExpected && r.exitCode() == code {
			reasons = append(reasons, report.OneLine(r.name))
		}
	}
	text := fmt.Sprintf("Exit %d: %s", code, c.Outcome())
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	return text + "."
}
