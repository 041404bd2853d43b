package report

import (
	"fmt"
	"strings"

	"lockbench/internal/stats"
)

// Handoffs is the time between a release and the next grant, for the locks that have this figure.
func (r *Result) Handoffs() string {
	var parts []string
	for l := range r.All() {
		if took, ok := l.LatencyMS[stats.Handoff]; ok {
			parts = append(parts, fmt.Sprintf("%s %s (p99 %s)", OneLine(l.Lock), Millis(took.P50), Millis(took.P99)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "From a release until a waiter has the lock: " + strings.Join(parts, ", ") + "."
}
