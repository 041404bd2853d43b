package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"lockbench/internal/report"
)

// TestFoldedKeepsWithinTheColumns wraps the plan of a run for terminals of several widths.
func TestFoldedKeepsWithinTheColumns(t *testing.T) {
	const text = "each episode: when idle lag master -> replicas by 60s; when acquired kill master, data lost for 10s, held for 6s..7s"
	for _, columns := range []int{30, 50, 100} {
		const head = "plan       "
		got := head + report.Wrap(text, len(head), columns)
		for _, line := range strings.Split(got, "\n") {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns: %d wide: %s", columns, n, line)
			}
		}
		if whole := strings.Join(strings.Fields(got), " "); whole != "plan "+text {
			t.Errorf("%d columns: the text became %q", columns, whole)
		}
	}
}
