package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockbench/internal/report"
)

// What a person sees of a campaign on the screen: a line for each run that was done, and
// in the end the tables that the pages have.

// signsInOrder are the looks of cells as the legend tells them.
var signsInOrder = []string{"valid", "overstay", "double-grant", "broken", "stale-write", "undetermined", "unknown", "failed", "none", "notrun"}

// tell says what came out of a run that was just done, how long it took, and how long
// the rest of the world's turn may take. A run without a result says nothing: why is
// said elsewhere.
func (t *turn) tell(r Run, round, at int, took time.Duration) error {
	ran, err := t.shelf.whole(r.World, r.Scenario)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(ran, func(x Ran) bool { return x.Seed == r.Seed })
	if i < 0 {
		return nil
	}
	row := Row{Part: r.Part, Runs: ran[i : i+1], Result: ran[i].result}
	m := matrix{t.world, t.Campaign}
	parts := []string{report.OneLine(r.Scenario)}
	for j := range row.Result.Locks {
		l := &row.Result.Locks[j]
		c := m.cellOf(&row, l)
		text := c.Sign + " " + l.Lock
		if c.Rate != "" {
			text += " " + c.Rate
		}
		// A rate is of all runs of a scenario, and is judged when they are done.
		if _, odd := oddOf(t.work.Chosen, r.Scenario, l); odd {
			text += " " + wrongSign
		}
		parts = append(parts, text)
	}
	end := report.Roughly(took)
	left, err := t.left(round, at)
	if err != nil {
		return err
	}
	if left > 0 {
		end += ", ~" + report.Roughly(left) + " left"
		if len(t.Worlds) > 1 {
			end += " in " + t.world.World
		}
	}
	t.work.Say(inLines(append(parts, end), cmp.Or(t.work.Columns, report.ScreenWidth)))
	return nil
}

// left guesses how long the world's turn goes on after a run, from how long each scenario
// took, or all of them where one has not been run.
func (t *turn) left(round, at int) (time.Duration, error) {
	type rest struct {
		runs int
		took time.Duration // of one; 0: not known
	}
	var rests []rest
	var all time.Duration
	known := 0
	for i := range t.world.Rows {
		part := t.world.Rows[i].Part
		ran, err := t.shelf.whole(t.world.World, part.Scenario)
		if err != nil {
			return 0, err
		}
		var x rest
		for _, done := range ran {
			x.took += time.Duration(done.result.DurationS * float64(time.Second))
		}
		if len(ran) > 0 {
			x.took /= time.Duration(len(ran))
			all += x.took
			known++
		}
		next := round
		if i <= at {
			next++
		}
		for seed := next; seed < t.rounds(part); seed++ {
			if len(ran) > 0 && unable(ran[0].result) != "" {
				break
			}
			if !slices.ContainsFunc(ran, func(x Ran) bool { return x.Seed == t.Seed+uint64(seed) && !t.failed[x.Dir] }) {
				x.runs++
			}
		}
		rests = append(rests, x)
	}
	var left time.Duration
	for _, x := range rests {
		if x.runs > 0 && known > 0 {
			left += time.Duration(x.runs) * cmp.Or(x.took, all/time.Duration(known))
		}
	}
	if t.work.Budget > 0 {
		budget := max(0, t.budget-t.gone())
		if t.open() || left > budget {
			return budget, nil
		}
	}
	return left, nil
}

// rounds is in how many rounds a scenario is run.
func (t *turn) rounds(p Part) int {
	switch {
	case p.Asked > 0:
		return p.Asked
	case t.Episodes > 0:
		return (t.Episodes + p.Episodes - 1) / max(p.Episodes, 1)
	}
	return 1
}

// open says whether rounds go on until the budget is spent.
func (t *turn) open() bool {
	return t.Episodes == 0 && !slices.ContainsFunc(t.world.Rows, func(r Row) bool { return r.Asked > 0 })
}

// inLines lays parts side by side in as many lines as it takes, each at most so many columns wide.
func inLines(parts []string, columns int) string {
	const gap, indent = "  ", "    "
	var b strings.Builder
	width := 0
	for i, part := range parts {
		n := utf8.RuneCountInString(part)
		switch {
		case i == 0:
		case width+len(gap)+n > columns:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteString(gap)
			width += len(gap)
		}
		b.WriteString(part)
		width += n
	}
	return b.String()
}

// Tables are the verdicts as they stand in the summaries, in lines for a screen of so many columns.
func (c *Campaign) Tables(columns int) []string {
	if c.Each {
		return append(aligned(c.rows()), "", acceptanceKey)
	}
	var lines []string
	for i := range c.Worlds {
		lines = append(lines, (&matrix{&c.Worlds[i], c}).tables(columns)...)
	}
	return lines
}

// tables are those of one world, and what its signs mean.
func (m *matrix) tables(columns int) []string {
	var lines []string
	seen := map[string]bool{}
	for _, of := range m.columnGroups() {
		for len(of) > 0 {
			table := m.heat(of[0].group.name, of[:1], wrongSign)
			n := 1
			for ; n < len(of); n++ {
				wider := m.heat(of[0].group.name, of[:n+1], wrongSign)
				if width(wider) > columns {
					break
				}
				table = wider
			}
			of = of[n:]
			lines = append(append(lines, aligned(table)...), "")
		}
	}
	if len(lines) == 0 {
		return nil
	}
	wrong := false
	for i := range m.Rows {
		for j := range m.Rows[i].Result.Locks {
			c := m.cellOf(&m.Rows[i], &m.Rows[i].Result.Locks[j])
			seen[c.Key], wrong = true, wrong || c.Wrong
		}
	}
	var means []string
	for _, key := range signsInOrder {
		if seen[key] {
			means = append(means, signs[key]+" "+words[key])
		}
	}
	if wrong {
		means = append(means, wrongSign+" not what the scenario expects")
	}
	return append(lines, strings.Join(means, " · "))
}

// widths is how wide each column of a table has to be.
func widths(table [][]string) []int {
	var all []int
	for _, row := range table {
		for j, cell := range row {
			if j == len(all) {
				all = append(all, 0)
			}
			all[j] = max(all[j], utf8.RuneCountInString(cell))
		}
	}
	return all
}

const columnGap = 2

// width is that of a whole table.
func width(table [][]string) int {
	sum := -columnGap
	for _, w := range widths(table) {
		sum += w + columnGap
	}
	return sum
}

// aligned are the rows of a table with their cells below each other.
func aligned(table [][]string) []string {
	wide := widths(table)
	lines := make([]string, len(table))
	for i, row := range table {
		var b strings.Builder
		for j, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", wide[j]-utf8.RuneCountInString(cell)+columnGap))
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// ExitLine tells the exit code in words, and which scenarios are the reason.
func (c *Campaign) ExitLine() string {
	code := c.ExitCode()
	if c.Each {
		return fmt.Sprintf("Exit %d: %s.", code, c.Outcome())
	}
	if code == report.ExitExpected {
		return "Exit 0: as expected."
	}
	var reasons []string
	for _, w := range c.Worlds {
		for i := range w.Rows {
			if r := &w.Rows[i]; r.together() == code {
				reasons = append(reasons, report.OneLine(r.Scenario))
			}
		}
	}
	text := fmt.Sprintf("Exit %d: %s", code, map[int]string{report.ExitUnexpected: "not as expected", report.ExitUnknown: "undecided or not run",
		report.ExitHarness: "the harness failed"}[code])
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	return text + "."
}
