package trial

import (
	"path/filepath"
	"testing"

	"lockbench/internal/trial/trialtest"
	"lockbench/internal/world/sim"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
	services "lockbench/service/catalog"
)

// BenchmarkSimFailover is what one lock's run of the scenario failover costs in the
// simulation, all three episodes.
func BenchmarkSimFailover(b *testing.B) {
	for _, lock := range []string{"set-nx", "redlock"} {
		b.Run(lock, func(b *testing.B) {
			s := trialtest.Load(b, "failover")
			for b.Loop() {
				w := sim.New(sim.Options{Models: services.Models(), Open: catalog.Open})
				given := Instructions{Input: NewInput(s, scenarios.LockUse{Name: lock, Use: lock}, 7), History: filepath.Join(b.TempDir(), "history.jsonl")}
				if _, err := given.do(b.Context(), w, Nobody{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
