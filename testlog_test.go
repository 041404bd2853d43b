package lockbench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockbench/internal/report"
)

type logged struct {
	T
	lines []string
}

func (l *logged) Logf(f string, a ...any) { l.lines = append(l.lines, fmt.Sprintf(f, a...)) }

// A test logs each episode once, even if several ticks report it. An episode shorter than the interval between ticks may
// be missing.
func TestTestLogsEachEpisodeOnce(t *testing.T) {
	told := &logged{}
	log := &testLog{t: told}
	for i, episode := range []int{0, 1, 1, 2, 2, 1} {
		log.tick(report.Tick{Episode: episode, Episodes: 2, Grants: 10 * i, Elapsed: time.Duration(i) * time.Second})
	}
	want := []string{"episode 1 of 2, 10 grants so far, 1s", "episode 2 of 2, 30 grants so far, 3s"}
	if !slices.Equal(told.lines, want) {
		t.Errorf("logged %q, want %q", told.lines, want)
	}
}
