package trial_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"lockbench/internal/testing/trialtest"
)

// verdictSeeds is the number of seeds of TestModuleBreaksAlike, unless LOCKBENCH_SEEDS is set.
const verdictSeeds = 1

// TestModuleBreaksAlike checks that a lock breaks in WASM guests as it does in goroutines. It
// runs set-nx in both, and a stock client without settings of its own in WASM guests.
func TestModuleBreaksAlike(t *testing.T) {
	seeds := trialtest.Seeds(t, verdictSeeds)
	locks := "set-nx,same=wasm:" + trialtest.SetNX(t)
	compared := []string{"failover", "pause-client"}
	if len(seeds) == verdictSeeds {
		locks += ",mine=wasm:" + trialtest.Module(t) // its verdicts may differ for some seeds
	} else {
		compared = append(compared, "crash-restart", "mixed")
	}
	for _, scenario := range compared {
		alike, of := 0, map[string]int{}
		for _, seed := range seeds {
			verdicts := simulated(t, scenario, seed, locks)
			differ := false
			for _, v := range verdicts[1:] {
				differ = differ || v != verdicts[0]
			}
			of[verdicts[0]]++
			if differ {
				// In mixed the faults hit the clients that hold at that moment, and these differ.
				report := t.Errorf
				if scenario == "mixed" {
					report = t.Logf
				}
				report("%s, seed %d: as goroutines and as WASM guests %q", scenario, seed, verdicts)
				continue
			}
			alike++
		}
		t.Logf("%s: %d of the seeds %d to %d alike; as goroutines %v", scenario, alike, seeds[0], seeds[len(seeds)-1], of)
	}
}

// TestModuleClockFaults shifts the clocks of WASM guests. A wall clock that jumps does not matter to a lock that uses the
// time of the server, and a client with a slow clock believes in its lease for too long. Goroutines have no clocks of their
// own, so their verdict is unknown.
func TestModuleClockFaults(t *testing.T) {
	locks := "set-nx,mine=wasm:" + trialtest.Module(t)
	for scenario, want := range map[string][]string{
		"client-clock": {"valid ", "valid "},
		"client-drift": {"unknown ", "violated overstay"},
	} {
		if got := simulated(t, scenario, 1, locks); !slices.Equal(got, want) {
			t.Errorf("%s: set-nx as goroutines, and mine as modules: %q, want %q", scenario, got, want)
		}
	}
}

// simulated returns the verdicts of locks in their order.
func simulated(t *testing.T, scenario string, seed int, locks string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "run", scenario, "--world", "sim", "--seed", fmt.Sprint(seed),
		"--episodes", "1", "--locks", locks, "--out", t.TempDir(), "--json")
	text, _ := cmd.Output() // the exit code is that of violated locks
	var result struct {
		Locks []struct{ Verdict, Class, Error string }
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatalf("%s, seed %d: %v\n%s", scenario, seed, err, text)
	}
	var verdicts []string
	for _, l := range result.Locks {
		verdicts = append(verdicts, l.Verdict+" "+l.Class+l.Error)
	}
	if len(verdicts) < 2 {
		t.Fatalf("%s, seed %d: the verdicts %q", scenario, seed, verdicts)
	}
	return verdicts
}
