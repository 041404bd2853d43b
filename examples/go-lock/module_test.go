package mylock_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"lockbench/internal/trial/trialtest"
)

// verdictSeeds is how many seeds of each scenario are compared; LOCKBENCH_SEEDS asks for
// another number.
const verdictSeeds = 1

// A stock client in modules breaks as the same lock of the catalog does in goroutines, with
// the settings that it needs there.
func TestModuleBreaksAlike(t *testing.T) {
	seeds := verdictSeeds
	if text := os.Getenv("LOCKBENCH_SEEDS"); text != "" {
		var err error
		if seeds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	file := trialtest.Module(t)
	for _, scenario := range []string{"failover", "pause-client", "crash-restart", "mixed"} {
		for seed := 1; seed <= seeds; seed++ {
			verdicts := simulated(t, scenario, seed, "set-nx,mine=wasm:"+file)
			if len(verdicts) != 2 || verdicts[0] != verdicts[1] {
				t.Errorf("%s, seed %d: as goroutines and as modules %q", scenario, seed, verdicts)
			}
		}
	}
}

// Clocks of clients that are modules: a wall clock that jumps is nothing to a lock that
// leaves the time to the server, and a slow client believes in its lease for too long.
// Goroutines could not show that, and get no verdict.
func TestModuleClocks(t *testing.T) {
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

// simulated are the verdicts of locks, in their order.
func simulated(t *testing.T, scenario string, seed int, locks string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "run", scenario, "--world", "sim", "--seed", fmt.Sprint(seed),
		"--locks", locks, "--out", t.TempDir(), "--json")
	text, _ := cmd.Output() // its exit code is that of locks that break
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
	return verdicts
}
