package page

import (
	"cmp"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
)

type checkRow struct{ Name, Verdict, Text string }

type group struct {
	Title   string
	Total   int
	Left    int
	Entries []checker.Finding
}

func checksOf(l *report.Lock) []checkRow {
	var rows []checkRow
	for _, c := range l.Checks {
		row := checkRow{Name: c.Name, Verdict: c.Verdict.String(), Text: report.OneLine(c.Why)}
		if c.Violations > 0 {
			row.Text = report.Plural(c.Violations, "finding")
		}
		if c.Note != "" {
			row.Text = strings.TrimPrefix(row.Text+"; "+report.OneLine(c.Note), "; ")
		}
		rows = append(rows, row)
	}
	return rows
}

// findings are the findings of all checkers by class, the worst first.
func findings(l *report.Lock) []group {
	byTitle := map[string]*group{}
	var order []*group
	class := map[*group]checker.Class{}
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			title := cmp.Or(f.Class.String(), f.Rule)
			g := byTitle[title]
			if g == nil {
				g = &group{Title: title}
				byTitle[title] = g
				class[g] = f.Class
				order = append(order, g)
			}
			g.Total++
			if len(g.Entries) < report.FindingsMax {
				g.Entries = append(g.Entries, f)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *group) int { return int(class[b]) - int(class[a]) })
	out := make([]group, len(order))
	for i, g := range order {
		slices.SortStableFunc(g.Entries, func(a, b checker.Finding) int { return a.Event - b.Event })
		g.Left = g.Total - len(g.Entries)
		out[i] = *g
	}
	return out
}
