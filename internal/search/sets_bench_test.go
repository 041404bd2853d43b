package search

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"lockbench/internal/world/sim"
	"lockbench/locks/catalog"
	services "lockbench/service/catalog"
)

// BenchmarkSets runs single faults of a small run, one after another in one process.
func BenchmarkSets(b *testing.B) {
	for _, lock := range []string{"set-nx", "redlock", "redisson-port"} {
		b.Run(lock, func(b *testing.B) {
			x := setsOf(b, lock, "single", nil)
			all, _, err := x.applicable(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			w := sim.New(sim.Options{Models: services.Models(), Open: catalog.Open})
			none := setJob{Input: x.input(x.Job.Scenario), Rounds: 1}
			first := none.do(b.Context(), w, nil)
			var jobs bytes.Buffer
			n := 0
			for n < b.N {
				for _, p := range first.Points {
					for _, f := range all {
						if !f.on(p.Event) || f.Request || n >= b.N {
							continue
						}
						s, err := x.Job.Scenario.WithFaults([]string{f.at(p, 0)})
						if err != nil {
							b.Fatal(err)
						}
						if err := json.NewEncoder(&jobs).Encode(setJob{Input: x.input(s), Rounds: 1, Faults: 1, Collect: true}); err != nil {
							b.Fatal(err)
						}
						n++
					}
				}
			}
			b.ResetTimer()
			if err := ServeSets(b.Context(), &jobs, io.Discard, catalog.Open, nil); err != nil {
				b.Fatal(err)
			}
		})
	}
}
