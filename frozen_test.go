package lockbench_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"lockbench"
	"lockbench/internal/testing/trialtest"
)

// frozenVariable makes TestFrozenRunIsTold do its runs, in a process that cannot simulate afterwards.
const frozenVariable = "LOCKBENCH_TEST_FROZEN"

// A run whose lock stops virtual time ends, and the error names the waiting goroutine and the one that holds the mutex.
// The goroutines cannot be stopped, so the test uses a separate process.
func TestFrozenRunIsTold(t *testing.T) {
	if os.Getenv(frozenVariable) != "" {
		all := &trialtest.Dozer{}
		for range 2 {
			_, err := lockbench.Run(t.Context(), lockbench.Options{Scenario: "steady", World: "sim", Seed: 7, Lock: all.Open})
			t.Log(err)
		}
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFrozenRunIsTold$", "-test.v")
	cmd.Env = append(os.Environ(), frozenVariable+"=1")
	said, err := cmd.CombinedOutput()
	const want = trialtest.DozerWaits
	if err != nil || strings.Count(string(said), want) != 2 || !strings.Contains(string(said), "). Try the lock on real servers") {
		t.Errorf("%v, want twice %q in\n%s", err, want, said)
	}
}
