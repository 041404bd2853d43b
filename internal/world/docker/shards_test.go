//go:build linux

package docker

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// TestCluster checks that clients map the addresses of nodes to their own, that a node that is cut off from all others loses its
// role, and that replicated data is kept.
func TestCluster(t *testing.T) {
	run(t, redistest.Spec(locks.Cluster, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
		client := open(ctx, t, c, 1)
		// One key for each master: a is on redis-3, b on redis-1, c on redis-2.
		for i, key := range []string{"a", "b", "c"} {
			err := soon(ctx, func(ctx context.Context) error {
				_, err := client.Conn().Acquire(ctx, key, locks.Request{Keys: []string{key}, Owner: "x", TTL: time.Minute})
				if errors.Is(err, locks.ErrTaken) {
					return nil // an earlier try, whose answer was lost
				}
				return err
			})
			if err != nil {
				return err
			}
			want := []string{"redis-3", "redis-1", "redis-2"}[i]
			if got, err := c.Abilities().LeaderOf(ctx, key); got != want || err != nil {
				t.Errorf("master of %q is %q, %v; want %s", key, got, err, want)
			}
		}
		// A short delay goes through the proxy, also on the cluster bus.
		slow := []world.Link{{From: "redis-1", To: "redis-2"}}
		if err := errors.Join(c.Cluster.SetLinks(ctx, slow, world.LinkState{Delay: world.Delay{By: 100 * time.Millisecond}}), service.AwaitHealthy(ctx, c), c.Cluster.SetLinks(ctx, slow, world.LinkState{})); err != nil {
			return err
		}
		var links []world.Link
		for _, n := range c.Nodes() {
			if n.Name != "redis-3" {
				links = append(links, world.Link{From: "redis-3", To: n.Name}, world.Link{From: n.Name, To: "redis-3"})
			}
		}
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{Cut: true}); err != nil {
			return err
		}
		err := service.Poll(ctx, func() error {
			master, err := c.Abilities().LeaderOf(ctx, "a")
			if err == nil && master != "redis-6" {
				err = errors.New(master + " is still the master of a")
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{}); err != nil {
			return err
		}
		return soon(ctx, c.Healthy)
	})
}
