package run

import (
	"testing"
	"time"
)

func TestForecast(t *testing.T) {
	const s = time.Second
	f := forecast{start: 3 * s, episode: 10 * s, episodes: 3, limit: time.Hour, slots: 2}
	two := []course{{state: underWay}, {state: underWay}}
	limited := f
	limited.limit = 15 * s
	virtual := f
	virtual.start, virtual.episode = 0, 0
	for name, c := range map[string]struct {
		f    forecast
		now  time.Duration
		all  []course
		want time.Duration
	}{
		"the plan's estimate":           {f, 0, two, 33 * s},
		"others wait for a slot":        {f, 0, append(two, course{}, course{}, course{}), 99 * s},
		"no estimate in virtual time":   {virtual, 2 * s, two, 0},
		"a limit":                       {limited, 0, two, 18 * s},
		"a slow start":                  {f, 20 * s, two, 50 * s},
		"one episode was seen":          {f, 30 * s, []course{{state: underWay, began: 0, first: 5 * s, latest: 25 * s, episode: 2}}, 65 * s},
		"estimates other locks from it": {virtual, 30 * s, []course{{state: underWay, first: 5 * s, latest: 25 * s, episode: 2}, {}, {}}, 130 * s},
		"each lock at its own pace":     {f, 30 * s, []course{{state: over, first: s, ended: 4 * s, episode: 3}, {state: underWay, latest: 20 * s, episode: 2}}, 60 * s},
		"an episode that is late":       {f, 50 * s, []course{{state: underWay, first: 5 * s, latest: 25 * s, episode: 3}}, 50 * s},
		"a lock without episodes":       {f, 9 * s, []course{{state: over}, {state: underWay}}, 39 * s},
		"all locks are done":            {f, 40 * s, []course{{state: over, first: s, ended: 31 * s, episode: 3}}, 40 * s},
	} {
		if got := c.f.end(c.now, c.all); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
