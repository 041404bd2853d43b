package lockbench_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench"
	"lockbench/locks"
)

// dozer is a lock that sleeps with a mutex held for which its other clients wait.
type dozer struct{ mu sync.Mutex }

func (d *dozer) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	time.Sleep(time.Second)
	return nil, locks.ErrTaken
}

func (d *dozer) Close() error { return nil }

// frozenVariable asks for the runs of TestFrozenRunIsTold, in a process that can simulate
// nothing after them.
const frozenVariable = "LOCKBENCH_TEST_FROZEN"

// A run whose lock stops virtual time ends, and says who waits for whom. Nothing can stop what
// it leaves behind, so it has a process of its own.
func TestFrozenRunIsTold(t *testing.T) {
	if os.Getenv(frozenVariable) != "" {
		all := &dozer{}
		for range 2 {
			_, err := lockbench.Run(t.Context(), lockbench.Options{
				Scenario: "steady", World: "sim", Seed: 7, Lock: func(context.Context, locks.Client) (locks.Locker, error) { return all, nil },
			})
			t.Log(err)
		}
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFrozenRunIsTold$", "-test.v")
	cmd.Env = append(os.Environ(), frozenVariable+"=1")
	said, err := cmd.CombinedOutput()
	const at = "waiting for a mutex: lockbench_test.(*dozer).Acquire at frozen_test.go:"
	if err != nil || strings.Count(string(said), at) != 2 || !strings.Contains(string(said), "(it sleeps)). Try the lock on real servers") {
		t.Errorf("%v, want twice %q in\n%s", err, at, said)
	}
}
