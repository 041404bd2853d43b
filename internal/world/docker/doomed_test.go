//go:build linux

package docker

import (
	"context"
	"fmt"
	"io"
	"os"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/service/redis/redistest"
)

// harnessEnv makes this test program a harness that tells the name of what it has
// started and then waits for its end, or, told to follow, for the end of its input
// and then kills a node.
const harnessEnv = "LOCKBENCH_TEST_HARNESS"

func runDoomedHarness() {
	follow := os.Getenv(harnessEnv) == "follow"
	os.Unsetenv(harnessEnv)
	w := New(Options{Services: onlyRedis})
	err := w.Run(context.Background(), redistest.Spec(locks.Replicated, world.Spec{}), func(ctx context.Context, wc world.Cluster) error {
		c := wc.(*cluster)
		fmt.Println(c.owner.name)
		if follow {
			_, _ = io.Copy(io.Discard, os.Stdin)
			return c.Kill(ctx, "redis-1")
		}
		select {}
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
