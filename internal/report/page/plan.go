package page

import (
	"cmp"

	"lockbench/internal/history"
	"lockbench/internal/report"
)

// planRow is a step of the plan as it happened.
type planRow struct {
	Episode                          int
	What, When, InEffect, Healed, NA string
}

// planMax bounds the steps of a plan that are shown.
const planMax = 100

// planRows compares the plan with the history. open is what a step is that did not happen.
func planRows(l *report.Lock, h *history.History, open string) []planRow {
	steps := h.Header.Plan
	if len(steps) == 0 {
		steps = l.Plan
	}
	at := func(pos int) string {
		if pos < 0 {
			return ""
		}
		return report.Stamp(h.At(pos).Time)
	}
	var rows []planRow
	for _, s := range steps {
		row := planRow{Episode: s.Episode, What: cmp.Or(s.Text, s.Fault), NA: s.NA}
		happened := false
		for _, f := range h.Faults {
			if f.Step != s.ID {
				continue
			}
			row.When, row.InEffect, row.Healed = at(f.Begins), at(f.Bites), at(f.Healed)
			happened = true
			if f.Text != "" {
				row.What += ": " + report.OneLine(f.Text)
			}
			if f.Fails >= 0 {
				row.NA = "failed: " + report.OneLine(f.Why)
			} else if f.Bites < 0 {
				row.NA = "not seen to take effect"
			}
		}
		if !happened && row.NA == "" {
			row.NA = open
		}
		rows = append(rows, row)
	}
	return rows
}
