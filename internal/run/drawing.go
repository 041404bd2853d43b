package run

import (
	"fmt"
	"io"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// draw leaves a picture of the violation worth telling beside the history of its lock.
// A run is no less true without one, so what goes wrong is for the log.
func draw(b *report.Bundle, path string, l *report.Lock, log func(string)) {
	f, found := l.FirstFinding()
	if !found || l.Verdict != checker.Violated {
		return
	}
	h, err := history.ReadFile(path)
	if err == nil {
		err = b.WriteDrawing(l.Lock, func(w io.Writer) error { return checker.Draw(w, h, checker.Options{}, f) })
	}
	if err != nil {
		log(fmt.Sprintf("draw the violation: %v", err))
	}
}
