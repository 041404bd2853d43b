package run

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"lockbench/internal/world/sim"
	"lockbench/scenarios"
)

// BenchmarkSimFailover is what one lock's run of the scenario failover costs in the
// simulation, all three episodes.
func BenchmarkSimFailover(b *testing.B) {
	for _, lock := range []string{"set-nx", "redlock"} {
		b.Run(lock, func(b *testing.B) {
			s := load(b, "failover")
			for b.Loop() {
				w := sim.New(sim.Options{Open: catalogOpener})
				o := order{Job: newJob(s, scenarios.LockUse{Name: lock, Use: lock}, 7), History: filepath.Join(b.TempDir(), "history.jsonl")}
				_ = os.Remove(o.History)
				if err := runJob(b.Context(), w, o, &notes{w: io.Discard}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
