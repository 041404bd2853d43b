//go:build linux

package local

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/world"
	"lockbench/internal/world/worldtest"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/redis"
	"lockbench/service/redis/redistest"
)

// What a cluster is for: a master dies, its replica is voted in, the slots are served
// again; the old one comes back empty and follows.
func TestClusterFailsOver(t *testing.T) {
	run(t, redistest.Spec(redis.Cluster, world.Spec{Clients: 1}), func(ctx context.Context, c *cluster) error {
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
			if got, err := worldtest.Can[service.Sharded](c).LeaderOf(ctx, key); got != want || err != nil {
				t.Errorf("master of %q is %q, %v; want %s", key, got, err, want)
			}
		}
		if replicas, err := worldtest.Can[service.Sharded](c).FollowersOf(ctx, "redis-3"); !slices.Equal(replicas, []string{"redis-6"}) || err != nil {
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
			now, err := worldtest.Can[service.Sharded](c).LeaderOf(ctx, "a")
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
		if replicas, err := worldtest.Can[service.Sharded](c).FollowersOf(ctx, "redis-6"); !slices.Equal(replicas, []string{"redis-3"}) || err != nil {
			t.Errorf("replicas of redis-6 are %v, %v", replicas, err)
		}
		if err := service.Poll(ctx, func() error { // its view of the slots may be old
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

// A replica takes over by hand, although its master lives; the bus is a link like any
// other, so a node that is cut off from all others loses its place.
func TestClusterPromotesAndIsCut(t *testing.T) {
	run(t, redistest.Spec(redis.Cluster, world.Spec{}), func(ctx context.Context, c *cluster) error {
		if now, err := worldtest.Can[service.Promoter](c).Promote(ctx, "redis-4"); now != "redis-4" || err != nil {
			return errors.Join(err, errors.New("promoted "+now))
		}
		if err := service.AwaitHealthy(ctx, c); err != nil {
			return err
		}
		if master, err := worldtest.Can[service.Sharded](c).LeaderOf(ctx, "b"); master != "redis-4" || err != nil {
			t.Errorf("master of b is %q, %v", master, err)
		}
		if _, err := worldtest.Can[service.Promoter](c).Promote(ctx, ""); err == nil || !strings.Contains(err.Error(), "name the replica") {
			t.Errorf("promote nobody in particular: %v", err)
		}
		var links []world.Link
		for _, n := range c.Nodes() {
			if n.Name != "redis-4" {
				links = append(links, world.Link{From: "redis-4", To: n.Name}, world.Link{From: n.Name, To: "redis-4"})
			}
		}
		if err := c.Cut(ctx, links); err != nil {
			return err
		}
		if err := service.Poll(ctx, func() error {
			master, err := worldtest.Can[service.Sharded](c).LeaderOf(ctx, "b")
			if err == nil && master != "redis-1" {
				err = errors.New(master + " is still the master of b")
			}
			return err
		}); err != nil {
			return err
		}
		if err := c.Join(ctx, links); err != nil {
			return err
		}
		return service.AwaitHealthy(ctx, c)
	})
}
