package campaign

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"lockbench/internal/report"
)

// Screen returns the final output: for one world the verdicts, for several worlds the numbers of runs as expected, and
// then unexpected results and missing runs.
func (c *Campaign) Screen(columns int) []string {
	var text []string
	if len(c.Worlds) > 1 {
		text = append(aligned(c.overview()), "", overviewKey, "")
	} else {
		text = c.heatMaps(columns)
	}
	for _, why := range c.notRun() {
		text = append(text, "Not run: "+why)
	}
	for _, r := range c.lines() {
		for _, l := range r.wrong() {
			text = append(text, fmt.Sprintf("%s %s, %s", l.Mark(), r.name, l.Remark()))
		}
	}
	return append(text, c.Counts())
}

// heatMaps returns the tables of verdicts with their legend.
func (c *Campaign) heatMaps(columns int) []string {
	var text []string
	rows := c.lines()
	for _, of := range groups(c.columns(rows)) {
		if of[0].Control {
			continue
		}
		for len(of) > 0 {
			var table []string
			n := 0
			for ; n < len(of); n++ {
				wider := aligned(c.heat(rows, of[0].group.name, of[:n+1], wrongSign))
				if n > 0 && slices.ContainsFunc(wider, func(line string) bool { return utf8.RuneCountInString(line) > columns }) {
					break
				}
				table = wider
			}
			of = of[n:]
			text = append(append(text, table...), "")
		}
	}
	if len(text) == 0 {
		return nil
	}
	seen, wrong := map[string]bool{}, false
	for _, r := range rows {
		for i := range r.Result.Locks {
			cell := c.cellOf(r, &r.Result.Locks[i])
			seen[cell.Key], wrong = true, wrong || cell.Wrong
		}
	}
	var means []string
	for _, look := range looks {
		if seen[look.key] {
			means = append(means, look.sign+" "+look.word)
		}
	}
	if wrong {
		means = append(means, wrongSign+" not what the scenario expects")
	}
	return append(text, strings.Join(means, " · "), "")
}

// overviewKey is the legend of the overview.
const overviewKey = "Runs as expected, of the runs that were done. ✓ complete · ✗ not as expected · … incomplete · – the world cannot"

// overview returns a row for each scenario with its result in each world.
func (c *Campaign) overview() [][]string {
	all := [][]string{{"scenario"}}
	for i, w := range c.Worlds {
		all[0] = append(all[0], w.World)
		for _, r := range w.Rows {
			at := slices.IndexFunc(all, func(row []string) bool { return row[0] == r.Scenario })
			if at < 0 {
				at = len(all)
				all = append(all, append([]string{r.Scenario}, make([]string, len(c.Worlds))...))
			}
			all[at][i+1] = r.inShort()
		}
	}
	return all
}

// inShort returns a row in a few words.
func (r *Row) inShort() string {
	text := fmt.Sprintf("%d of %d", r.asExpected(), len(r.Runs))
	switch {
	case r.Unable() != "":
		return "–"
	case len(r.Runs) == 0:
		return fmt.Sprintf("… 0 of %d run", r.wanted())
	case len(r.Odd)+len(r.Rates) > 0:
		text = "✗ " + text
	case r.complete():
		return "✓ " + text
	default:
		text = "… " + text
	}
	if len(r.Rates) > 0 {
		text += ", rate"
	}
	if !r.complete() {
		text += fmt.Sprintf(", %d not run", r.wanted()-len(r.Runs))
	}
	return text
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
