package trial

import (
	"strings"
	"testing"
	"time"

	"lockbench/internal/world/sim"
)

func TestStillness(t *testing.T) {
	frozen := sim.Standstill{Waiting: []string{"lib.(*Pool).Get at pool.go:7"}}
	computes := sim.Standstill{Computes: true, Waiting: frozen.Waiting}
	type at struct {
		moved  int64
		asking bool
		seen   sim.Standstill
	}
	for _, one := range []struct {
		name  string
		looks []at
		want  string // after the last look; nothing after those before
	}{
		{"frozen", []at{{1, false, frozen}, {1, false, frozen}, {1, false, frozen}}, "Pool).Get at pool.go:7). Try the lock on real servers, with --world local"},
		{"computes", []at{{1, false, computes}, {1, false, computes}, {1, false, computes}, {1, false, computes}, {1, false, computes}}, "computes forever"},
		{"a short wait for a mutex", []at{{1, false, frozen}, {1, false, frozen}, {1, false, computes}, {1, false, frozen}}, ""},
		{"slow", []at{{1, false, frozen}, {1, false, frozen}, {2, false, frozen}, {2, false, frozen}, {3, false, frozen}}, ""},
		{"waits for the harness", []at{{1, false, frozen}, {1, true, frozen}, {1, true, frozen}, {1, true, frozen}, {1, true, frozen}}, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			var seen sim.Standstill
			s := stillness{each: time.Millisecond, looks: 4, frozenLooks: 2, lookAt: func() sim.Standstill { return seen }}
			for i, look := range one.looks {
				seen = look.seen
				why := s.look(look.moved, look.asking)
				if last := i == len(one.looks)-1; last && one.want != "" {
					if !strings.Contains(why, one.want) {
						t.Errorf("said %q, want %q", why, one.want)
					}
				} else if why != "" {
					t.Errorf("look %d said %q", i, why)
				}
			}
		})
	}
}
