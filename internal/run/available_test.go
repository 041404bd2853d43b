package run

import (
	"os"
	"slices"
	"testing"

	"lockbench/internal/testing/trialtest"
	"lockbench/scenarios"
)

// reference are locks of several families that are available whenever their servers are.
var reference = []string{"set-nx", "set-nx-fenced", "redlock", "redisson-port", "redisson-port-wait", "redisson-port-redlock"}

// TestReferenceLocksAreAvailable calibrates the rule unavailable: it accuses no reference lock in 200 runs or more, with the
// faults of all scenarios in the simulation.
func TestReferenceLocksAreAvailable(t *testing.T) {
	if os.Getenv("LOCKBENCH_LONG") == "" {
		t.Skip("takes minutes; set LOCKBENCH_LONG=1")
	}
	runs, notes := 0, 0
	for _, name := range scenarios.Names() {
		source, _ := scenarios.Find(name)
		s := trialtest.Load(t, string(source))
		for seed := uint64(1); seed <= 2; seed++ {
			var use []scenarios.LockUse
			for _, l := range s.Locks {
				if slices.Contains(reference, l.Use) && len(l.Options) == 0 {
					use = append(use, l)
				}
			}
			if len(use) == 0 {
				continue
			}
			result := runIt(t, t.Context(), Options{Scenario: s, Locks: use, Seed: seed, World: trialtest.SimWorld(t)}).Result
			for _, l := range result.Locks {
				if l.Unsupported != "" || l.Error != "" {
					continue
				}
				runs++
				liveness, _ := l.Check("liveness")
				if liveness.Note != "" && liveness.Violations == 0 {
					notes++
				}
				for _, f := range liveness.Findings {
					if f.Rule == "unavailable" {
						t.Errorf("%s, seed %d: %s: %s", name, seed, l.Lock, f.Text)
					}
				}
			}
		}
	}
	t.Logf("%d runs, %d of them with a note of liveness", runs, notes)
	if runs < 200 {
		t.Errorf("%d runs, want 200", runs)
	}
}
