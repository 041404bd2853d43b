package run

import (
	"testing"
	"time"
)

func TestExpected(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		episodes int
		all      []course
		want     time.Duration
	}{
		"no episode is done":            {3, []course{{state: underWay, episode: 1}, {}}, 0},
		"one of six":                    {3, []course{{state: underWay, episode: 2}, {}}, 180 * s},
		"a lock is done, maybe earlier": {3, []course{{state: over, episode: 1}, {}}, 60 * s},
		"all locks are done":            {3, []course{{state: over, episode: 3}}, 30 * s},
		"an unknown number of episodes": {0, []course{{state: over, episode: 3}, {}}, 0},
	} {
		p := &progress{episodes: c.episodes, courses: c.all}
		if got := p.expected(30 * s); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
