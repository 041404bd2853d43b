package mylock_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/internal/trial/trialtest"
	"lockbench/locks"
)

// verdictSeeds is how many seeds of each scenario are compared; LOCKBENCH_SEEDS asks for
// another number.
const verdictSeeds = 3

// The lock breaks in the same way whether its clients are goroutines of this process or
// modules: client library, retries, timers and all. The one difference that is allowed is
// that a pause of a module is a real one.
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
		for seed := uint64(1); seed <= uint64(seeds); seed++ {
			res, err := lockbench.Run(t.Context(), lockbench.Options{
				Scenario: scenario, World: "sim", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: seed,
			})
			if err != nil {
				t.Fatal(err)
			}
			goroutines := res.Verdict.String() + " " + res.Class.String()
			if modules := asModule(t, file, scenario, seed); modules != goroutines {
				t.Errorf("%s, seed %d: as a module %q, as goroutines %q", scenario, seed, modules, goroutines)
			}
		}
	}
}

// asModule is the verdict of the lock with modules as its clients.
func asModule(t *testing.T, file, scenario string, seed uint64) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "run", scenario, "--world", "sim", "--seed", fmt.Sprint(seed),
		"--locks", "mine=wasm:"+file, "--out", t.TempDir(), "--json")
	text, _ := cmd.Output() // its exit code is that of a lock that breaks
	var result struct {
		Locks []struct{ Verdict, Class, Error string }
	}
	if err := json.Unmarshal(text, &result); err != nil || len(result.Locks) != 1 || result.Locks[0].Error != "" {
		t.Fatalf("%s, seed %d: %v\n%s", scenario, seed, err, text)
	}
	return result.Locks[0].Verdict + " " + result.Locks[0].Class
}
