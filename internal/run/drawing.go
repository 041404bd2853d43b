package run

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

// drawingsMax is how many episodes of a lock are drawn. A run of a thousand has as much
// to show as its first ten.
const drawingsMax = 10

// draw leaves pictures beside the history of a violated lock: of the violation worth
// telling, and of the first one of each other episode. A run is no less true without
// them, so what goes wrong is for the log.
func draw(b *report.Bundle, h *history.History, judged checker.Report, l *report.Lock, log func(string)) {
	first, found := l.FirstFinding()
	if !found || l.Verdict != checker.Violated {
		return
	}
	pages := map[string]checker.Finding{report.DrawingFile: first}
	others := stats.WorstOfEpisodes(h, judged.Checks)
	if episode, ok := h.EpisodeAt(h.Position(first.Event)); ok {
		delete(others, episode)
	} else {
		clear(others)
	}
	episodes := slices.Sorted(maps.Keys(others))
	for _, n := range episodes[:min(len(episodes), drawingsMax-1)] {
		pages[report.EpisodeDrawingFile(n)] = others[n]
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		f := pages[name]
		about := page.Violation{Scenario: h.Header.Scenario, Lock: l.Lock, Class: f.Class.String(), Seed: h.Header.Seed}
		if n, ok := h.EpisodeAt(h.Position(f.Event)); ok {
			about.Episode = n
		}
		err := b.WriteDrawing(l.Lock, name, func(w io.Writer) error {
			return about.Frame(w, func(w io.Writer) error { return checker.Draw(w, h, checker.Options{}, f) })
		})
		if err != nil {
			log(fmt.Sprintf("draw the violation of %s: %v", name, err))
		}
	}
}
