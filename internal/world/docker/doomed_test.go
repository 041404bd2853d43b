//go:build linux

package docker

import (
	"context"
	"fmt"
	"io"
	"os"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// harnessEnv makes this test program a harness that prints the name of its cluster and waits to be killed. With "follow" it waits
// for the end of its input and then kills a node. With "swept" it has a cleanup process.
const harnessEnv = "LOCKBENCH_TEST_HARNESS"

func runDoomedHarness() {
	role := os.Getenv(harnessEnv)
	if role == "sweep" {
		if err := SweepAfter(context.Background(), os.Stdin, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	follow := role == "follow"
	os.Unsetenv(harnessEnv)
	o := Options{Services: onlyRedis}
	if role == "swept" {
		o.Sweep = []string{"/usr/bin/env", harnessEnv + "=sweep", os.Args[0]}
	}
	w := New(o)
	err := w.with(context.Background(), redistest.Spec(locks.Replicated, world.Spec{}), func(ctx context.Context, b *backend) error {
		c := runningOf(b)
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
