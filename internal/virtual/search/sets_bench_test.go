package search

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	services "lockbench/internal/service/catalog"
	"lockbench/internal/virtual/sim"
	"lockbench/locks/catalog"
)

// BenchmarkSets runs single faults of a small run, one after another in one process, as the processes of a search do. The
// processor time is that of the process, with garbage collection: run it with GOMAXPROCS=1 and GOGC=800, as a search does.
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
						if err := json.NewEncoder(&jobs).Encode(setJob{Input: x.input(s), Rounds: 1, Faults: 1, Collect: os.Getenv("COLLECT") != ""}); err != nil {
							b.Fatal(err)
						}
						n++
					}
				}
			}
			b.ResetTimer()
			before := processorTime(b)
			if err := ServeSets(b.Context(), &jobs, io.Discard, catalog.Open, nil); err != nil {
				b.Fatal(err)
			}
			spent := processorTime(b) - before
			b.ReportMetric(float64(b.N)/spent.Seconds(), "sets/cpu-s")
		})
	}
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
