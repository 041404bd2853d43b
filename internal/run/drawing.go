package run

import (
	"fmt"
	"io"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// draw writes the drawing of a violated lock's first finding. A run is complete without it, so an error only goes to the
// log.
func draw(b *report.Bundle, h *history.History, l *report.Lock, log func(string)) {
	first, found := l.FirstFinding()
	if !found || l.Verdict != checker.Violated {
		return
	}
	about := page.Violation{Scenario: h.Header.Scenario, Lock: l.Lock, Class: first.Class.String(), Seed: h.Header.Seed}
	if n, ok := h.EpisodeAt(h.Position(first.Event)); ok {
		about.Episode = n
	}
	err := b.WriteDrawing(l.Lock, func(w io.Writer) error {
		return about.Frame(w, func(w io.Writer) error { return checker.Draw(w, h, checker.Options{}, first) })
	})
	if err != nil {
		log(fmt.Sprintf("draw the violation: %v", err))
	}
}
