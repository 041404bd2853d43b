package run

import (
	"fmt"
	"io"
	"path/filepath"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// draw writes the drawing of a violated lock's first finding. A run is complete without it, so an error only goes to the
// log.
func draw(b *report.Bundle, h *history.History, l *report.Lock, log func(string)) {
	first, found := l.FirstFinding()
	if !found || l.Verdict != checker.Violated {
		return
	}
	err := b.Write(filepath.Join(report.FolderName(l.Lock), report.DrawingFile), func(w io.Writer) error {
		return checker.Draw(w, h, checker.Options{}, first)
	})
	if err != nil {
		log(fmt.Sprintf("draw the violation: %v", err))
	}
}
