//go:build linux

package docker

import (
	"context"
	"fmt"
	"os"

	"lockbench/internal/world"
	"lockbench/locks"
)

// harnessEnv makes this test program a harness that tells the name of what it has
// started and then waits for its end.
const harnessEnv = "LOCKBENCH_TEST_HARNESS"

func runDoomedHarness() {
	os.Unsetenv(harnessEnv)
	w := New(Options{})
	err := w.Run(context.Background(), world.Spec{Topology: locks.Replicated}, func(_ context.Context, wc world.Cluster) error {
		fmt.Println(wc.(*cluster).owner.name)
		select {}
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
