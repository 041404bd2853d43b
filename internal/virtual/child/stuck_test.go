package child

import (
	"strings"
	"testing"

	"lockbench/internal/virtual/sim"
)

func TestWatch(t *testing.T) {
	frozen := sim.Standstill{Waiting: []string{"lib.(*Pool).Get at pool.go:7"}}
	computes := sim.Standstill{Computes: true, Waiting: frozen.Waiting}
	type looks struct {
		n        int
		progress int64
		seen     sim.Standstill
	}
	for _, one := range []struct {
		name  string
		looks []looks
		want  string // after the last look; nothing after those before
	}{
		{"frozen", []looks{{1, 1, frozen}, {frozenLooks, 1, frozen}}, "Pool).Get at pool.go:7). Advice"},
		{"computes", []looks{{1, 1, computes}, {stillLooks, 1, computes}}, "computes forever"},
		{"a short wait for a mutex", []looks{{frozenLooks, 1, frozen}, {1, 1, computes}, {frozenLooks - 1, 1, frozen}}, ""},
		{"slow", []looks{{frozenLooks, 1, frozen}, {frozenLooks, 2, frozen}, {frozenLooks, 3, frozen}}, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			var w watch
			why := ""
			for _, l := range one.looks {
				for range l.n {
					if why != "" {
						t.Errorf("said %q before the last look", why)
					}
					why = w.look(l.progress, "Advice", func() sim.Standstill { return l.seen })
				}
			}
			if one.want == "" && why != "" || !strings.Contains(why, one.want) {
				t.Errorf("said %q, want %q", why, one.want)
			}
		})
	}
}
