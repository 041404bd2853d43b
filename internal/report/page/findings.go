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
	Left    int // findings that are not shown
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
	var all []group
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			title := cmp.Or(f.Class.String(), f.Rule)
			i := slices.IndexFunc(all, func(g group) bool { return g.Title == title })
			if i < 0 {
				i = len(all)
				all = append(all, group{Title: title})
			}
			all[i].Entries = append(all[i].Entries, f)
		}
	}
	slices.SortStableFunc(all, func(a, b group) int { return cmp.Compare(b.Entries[0].Class, a.Entries[0].Class) })
	for i := range all {
		g := &all[i]
		slices.SortStableFunc(g.Entries, func(a, b checker.Finding) int { return a.Event - b.Event })
		g.Left = max(0, len(g.Entries)-report.FindingsMax)
		g.Entries = g.Entries[:len(g.Entries)-g.Left]
	}
	return all
}
