//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/unsynced"
	"lockbench/locks"
)

// Redis in a container keeps over a loss of power what it has synced, and nothing else: with the policy no it never
// syncs. The machine does not see the disk, and neither a second loss nor the loss of all data damages it.
func TestPowerLoss(t *testing.T) {
	needs.OrSkip(t, "fuse", unsynced.ReadyIn())
	for policy, want := range map[string]string{"always": "1", "no": "0"} {
		t.Run(policy, func(t *testing.T) {
			settings := map[string]string{"appendonly": "yes", "appendfsync": policy}
			run(t, redistest.Spec(locks.Single, world.Spec{Unsynced: true, Settings: settings}), func(ctx context.Context, c *running) error {
				n := c.nodes[0]
				redis := func(words string) string {
					t.Helper()
					said, err := n.run(ctx, fmt.Sprintf("redis-cli -h %s -p %d %s", n.announced.Addr(), serverPort, words))
					if err != nil {
						t.Errorf("%s: %v", words, err)
					}
					return said
				}
				for range 2 {
					redis("SET a 1")
					if _, err := c.LosePower(ctx, n.Name, world.NamesKept); err == nil || !strings.Contains(err.Error(), "it is running") {
						t.Errorf("a running server loses its power: %v", err)
					}
					if err := c.Cluster.Kill(ctx, n.Name); err != nil {
						return err
					}
					lost, err := c.LosePower(ctx, n.Name, world.NamesKept)
					if err != nil || !strings.Contains(lost, "the unsynced of two markers") {
						t.Errorf("%q, %v", lost, err)
					}
					if err := c.Start(ctx, n.Name, true); err != nil {
						return err
					}
					if got := redis("EXISTS a"); got != want {
						t.Errorf("after the loss: EXISTS a: %s, want %s", got, want)
					}
				}
				redis("SET a 1")
				if err := errors.Join(c.Cluster.Kill(ctx, n.Name), c.Start(ctx, n.Name, false)); err != nil {
					return err
				}
				if got := redis("EXISTS a"); got != "0" {
					t.Errorf("after the loss of all data: EXISTS a: %s", got)
				}
				mounts, err := os.ReadFile("/proc/self/mounts")
				if err != nil || strings.Contains(string(mounts), "fuse.lockbench "+diskDir) || strings.Contains(string(mounts), n.backend.cluster.Dir.Path) {
					t.Errorf("the machine sees the disk of a container (%v):\n%s", err, mounts)
				}
				return nil
			})
		})
	}
}
