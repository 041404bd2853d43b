//go:build linux

package local

import (
	"context"
	"fmt"
	"os"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks"
)

// harnessEnv makes this test program a harness that prints its processes and waits to be killed.
const harnessEnv = "LOCKBENCH_TEST_HARNESS"

func runDoomedHarness() {
	os.Unsetenv(harnessEnv)
	os.Setenv(guestEnv, "1")
	w := New(Options{Services: []*service.Service{redis.Service}, Self: []string{os.Args[0]}})
	err := w.with(context.Background(), redistest.Spec(locks.Sentinel, world.Spec{}), func(ctx context.Context, b *backend) error {
		c := runningOf(b)
		client, err := c.Open(ctx, world.ClientSpec{ID: 1, Lock: "plain"})
		if err != nil {
			return err
		}
		fmt.Println(c.Dir.Path)
		fmt.Println(client.(*process.Client).Process().PID())
		for _, n := range c.nodes {
			fmt.Println(n.process.PID())
		}
		fmt.Println("up")
		select {}
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
