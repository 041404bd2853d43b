package run

import (
	"testing"
	"time"
)

func TestForecast(t *testing.T) {
	const s = time.Second
	plan := forecast{guess: 10 * s, episodes: 3, limit: time.Hour, slots: 2}
	virtual := plan
	virtual.guess = 0
	limited := plan
	limited.limit = 15 * s
	seen := virtual
	seen.pace.Add("", 20*s)
	two := []course{{state: underWay}, {state: underWay}}
	for name, c := range map[string]struct {
		f    forecast
		now  time.Duration
		all  []course
		want time.Duration
	}{
		"the plan's estimate":         {plan, 0, two, 30 * s},
		"others wait for a slot":      {plan, 0, append(two, course{}, course{}), 60 * s},
		"no estimate in virtual time": {virtual, 2 * s, two, 0},
		"a limit":                     {limited, 0, two, 15 * s},
		"one episode was seen":        {seen, 30 * s, []course{{state: underWay, latest: 25 * s, episode: 2}}, 65 * s},
		"estimates other locks":       {seen, 30 * s, []course{{state: underWay, latest: 30 * s, episode: 2}, {}}, 80 * s},
		"an episode that is late":     {seen, 50 * s, []course{{state: underWay, latest: 25 * s, episode: 3}}, 50 * s},
		"all locks are done":          {plan, 40 * s, []course{{state: over, episode: 3}}, 40 * s},
	} {
		if got := c.f.end(c.now, c.all); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
