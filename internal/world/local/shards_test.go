//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// TestClusterFailsOver checks that the replica of a dead master is elected and serves the slots. The old master returns
// without data as a replica.
func TestClusterFailsOver(t *testing.T) {
	run(t, redistest.Spec(locks.Cluster, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
		client := open(ctx, t, c, 1)
		take := func(session, key string) error {
			_, err := client.Conn().Acquire(ctx, session, locks.Request{Keys: []string{key}, Owner: "x"})
			return err
		}
		if masters := c.Leaders(ctx); !slices.Equal(masters, []string{"redis-1", "redis-2", "redis-3"}) {
			t.Errorf("masters are %v", masters)
		}
		// As a server says itself: CLUSTER KEYSLOT a is 15495, b 3300, c 7365, {c}a 7365.
		for key, want := range map[string]string{"a": "redis-3", "b": "redis-1", "c": "redis-2", "{c}a": "redis-2"} {
			if got, err := c.Abilities().LeaderOf(ctx, key); got != want || err != nil {
				t.Errorf("master of %q is %q, %v; want %s", key, got, err, want)
			}
		}
		if replicas, err := c.Abilities().FollowersOf(ctx, "redis-3"); !slices.Equal(replicas, []string{"redis-6"}) || err != nil {
			t.Errorf("replicas of redis-3 are %v, %v", replicas, err)
		}
		if err := take("1.1", "a"); err != nil {
			return err
		}
		if err := c.Kill(ctx, "redis-3"); err != nil {
			return err
		}
		if err := c.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "redis-3") {
			t.Errorf("healthy without redis-3: %v", err)
		}
		if err := service.Poll(ctx, func() error {
			now, err := c.Abilities().LeaderOf(ctx, "a")
			if err == nil && now != "redis-6" {
				err = errors.New(now + " is still the master of a")
			}
			return err
		}); err != nil {
			return err
		}
		if err := c.Start(ctx, "redis-3", false); err != nil {
			return err
		}
		if err := service.AwaitHealthy(ctx, c); err != nil {
			return err
		}
		if replicas, err := c.Abilities().FollowersOf(ctx, "redis-6"); !slices.Equal(replicas, []string{"redis-3"}) || err != nil {
			t.Errorf("replicas of redis-6 are %v, %v", replicas, err)
		}
		if err := service.Poll(ctx, func() error { // the node's map of the slots may be old
			if err := take("1.2", "a"); !errors.Is(err, locks.ErrTaken) {
				return err
			}
			return nil
		}); err != nil {
			t.Errorf("what was replicated should still be taken: %v", err)
		}
		return client.Close(ctx)
	})
}

// A replica is promoted by hand although its master lives. Links of the cluster bus can be cut, so a node that is cut off
// from all others loses its role.
func TestClusterPromotesAndIsCut(t *testing.T) {
	run(t, redistest.Spec(locks.Cluster, world.Spec{}), func(ctx context.Context, c *running) error {
		if now, err := c.Abilities().Promote(ctx, "redis-4"); now != "redis-4" || err != nil {
			return errors.Join(err, errors.New("promoted "+now))
		}
		if err := service.AwaitHealthy(ctx, c); err != nil {
			return err
		}
		if master, err := c.Abilities().LeaderOf(ctx, "b"); master != "redis-4" || err != nil {
			t.Errorf("master of b is %q, %v", master, err)
		}
		if _, err := c.Abilities().Promote(ctx, ""); err == nil || !strings.Contains(err.Error(), "name the replica") {
			t.Errorf("promote without a node: %v", err)
		}
		var links []world.Link
		for _, n := range c.Nodes() {
			if n.Name != "redis-4" {
				links = append(links, world.Link{From: "redis-4", To: n.Name}, world.Link{From: n.Name, To: "redis-4"})
			}
		}
		if err := c.SetLinks(ctx, links, world.LinkState{Cut: true}); err != nil {
			return err
		}
		if err := service.Poll(ctx, func() error {
			master, err := c.Abilities().LeaderOf(ctx, "b")
			if err == nil && master != "redis-1" {
				err = errors.New(master + " is still the master of b")
			}
			return err
		}); err != nil {
			return err
		}
		if err := c.SetLinks(ctx, links, world.LinkState{}); err != nil {
			return err
		}
		return service.AwaitHealthy(ctx, c)
	})
}

// TestClusterForgets checks that flush and evict empty each leader of a cluster.
func TestClusterForgets(t *testing.T) { testForgets(t, locks.Cluster, 3) }

// TestForgets checks that flush and evict empty each leader of the other topologies.
func TestForgets(t *testing.T) {
	for topology, leaders := range map[locks.Topology]int{locks.Single: 1, locks.Replicated: 1, locks.Sentinel: 1, locks.Independent: 5} {
		t.Run(string(topology), func(t *testing.T) { testForgets(t, topology, leaders) })
	}
}

func testForgets(t *testing.T, topology locks.Topology, count int) {
	run(t, redistest.Spec(topology, world.Spec{}), func(ctx context.Context, c *running) error {
		leaders := c.Leaders(ctx)
		if len(leaders) != count {
			return fmt.Errorf("the leaders are %v, want %d", leaders, count)
		}
		ask := func(name string, command ...any) (any, error) {
			i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })
			return redistest.Ask(ctx, c.nodes[i].real, command...)
		}
		// fill writes a hundred keys with an expiry and a hundred without to a server, or those of them that
		// belong to its slots.
		fill := func(name string) (ends, stays int64, err error) {
			for i := range 100 {
				for _, kind := range []string{"ends", "stays"} {
					command := []any{"SET", fmt.Sprint(kind, i), "1"}
					if kind == "ends" {
						command = append(command, "EX", "1000")
					}
					switch _, err := ask(name, command...); {
					case err != nil && strings.Contains(err.Error(), "MOVED"):
					case err != nil:
						return 0, 0, err
					case kind == "ends":
						ends++
					default:
						stays++
					}
				}
			}
			if ends == 0 || stays == 0 {
				return 0, 0, fmt.Errorf("%s took %d keys with an end and %d without", name, ends, stays)
			}
			return ends, stays, nil
		}
		size := func(node, what string, want int64) error {
			if got, err := ask(node, "DBSIZE"); err != nil || got != want {
				return fmt.Errorf("%s: %s keeps %v keys, %v; want %d", what, node, got, err, want)
			}
			return nil
		}
		for _, node := range leaders {
			ends, stays, err := fill(node)
			if err == nil {
				err = size(node, "before", ends+stays)
			}
			if err == nil {
				err = c.Abilities().Orders[service.OrderEvict](ctx, service.OrderArgs{Node: node})
			}
			if err == nil {
				err = size(node, "evicted", stays)
			}
			if err == nil {
				err = c.Abilities().Orders[service.OrderFlush](ctx, service.OrderArgs{Node: node})
			}
			if err == nil {
				err = size(node, "flushed", 0)
			}
			if err != nil {
				return err
			}
		}
		if topology == locks.Cluster {
			for _, replica := range []string{"redis-4", "redis-5", "redis-6"} {
				err := c.Abilities().Orders[service.OrderFlush](ctx, service.OrderArgs{Node: replica})
				if err == nil || !strings.Contains(err.Error(), "READONLY") {
					t.Errorf("flush %s, which follows another node: %v", replica, err)
				}
			}
		}
		return nil
	})
}
