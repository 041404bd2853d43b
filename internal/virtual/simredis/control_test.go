package simredis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

func TestKeeper(t *testing.T) {
	in(t, redistest.Spec(locks.Replicated, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		master := talk(t, c, 1).to(c.servers.data[0].addr)
		began := time.Now()
		for _, command := range []string{"SET ends 1 PX 5000", "SET stays 1", "SET short 1 PX 100"} {
			if got := master.say(command); got != "+OK" {
				t.Errorf("%s: %s", command, got)
			}
		}
		err := service.Poll(ctx, func() error {
			if ttl, _, err := c.servers.Abilities().TTL(ctx, "short"); err != nil || ttl != service.Gone {
				return fmt.Errorf("the short key ends in %v: %w", ttl, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		for key, want := range map[string]time.Duration{"ends": 5*time.Second - time.Since(began), "stays": service.Forever, "short": service.Gone} {
			ttl, node, err := c.servers.Abilities().TTL(ctx, key)
			// The requests that came after it have travelled for a moment each.
			if gone := want - ttl; err != nil || node != c.servers.data[0].Name || gone < 0 || gone > 10*time.Millisecond {
				t.Errorf("TTL of %q: %v on %s (%v); expected %v", key, ttl, node, err, want)
			}
		}
		kept, err := c.servers.Abilities().Kept(ctx)
		if err != nil || len(kept) != 2 || kept["stays"] != service.Forever || kept["ends"] <= 0 {
			t.Errorf("kept %v (%v); expected what ends and what stays", kept, err)
		}
		if err := c.PauseNode(ctx, c.servers.data[0].Name); err != nil {
			t.Error(err)
		}
		if ttl, _, err := c.servers.Abilities().TTL(ctx, "ends"); err == nil {
			t.Errorf("a frozen server said %v", ttl)
		}
		if err := c.ResumeNode(ctx, c.servers.data[0].Name); err != nil {
			t.Error(err)
		}
	})
	in(t, world.Spec{Service: redis.Service, Topology: redistest.Form(locks.Independent).Sized(3)}, func(t *testing.T, ctx context.Context, c *trial) {
		for i, command := range []string{"SET a 1 PX 5000", "SET a 1 PX 9000", "SET b 1"} {
			talk(t, c, 1).to(c.servers.data[i].addr).say(command)
		}
		if _, _, err := c.servers.Abilities().TTL(ctx, "a"); err == nil {
			t.Error("no single one of independent servers keeps a key")
		}
		kept, err := c.servers.Abilities().Kept(ctx)
		if err != nil || kept["a"] < 8*time.Second || kept["b"] != service.Forever {
			t.Errorf("kept %v (%v); expected the longest of a, and b", kept, err)
		}
	})
}

// The control code of real servers gives orders to simulated ones, which takes no time.
func TestOrders(t *testing.T) {
	in(t, redistest.Spec(locks.Replicated, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		order := func(name string, to service.OrderArgs) error {
			began := time.Now()
			err := c.servers.Abilities().Orders[name](ctx, to)
			if d := time.Since(began); d != 0 {
				t.Errorf("%s took %v", name, d)
			}
			return err
		}
		w, r := talk(t, c, 1).to(c.servers.data[0].addr), talk(t, c, 1).to(c.servers.data[1].addr)
		for _, step := range []struct{ before, order, command, want string }{
			{"SET k mine PX 10000", service.OrderPoison, "TYPE k", "list"},
			{"SET stays 1", service.OrderCure, "EXISTS k", ":0"},
			{"SET k mine PX 10000", service.OrderEvict, "MGET k stays", `[nil, "1"]`},
			{"SET k mine PX 10000", service.OrderFlush, "DBSIZE", ":0"},
		} {
			w.say(step.before)
			if err := order(step.order, service.OrderArgs{Node: "redis-1", Key: "k"}); err != nil {
				t.Errorf("%s: %v", step.order, err)
			}
			w.wants(step.command, step.want)
			w.wants("WAIT 2 1000", ":2")
			r.wants(step.command, step.want)
		}
		for name, want := range map[string]string{service.OrderFlush: "READONLY", service.OrderEvict: "only masters evict"} {
			if err := order(name, service.OrderArgs{Node: "redis-2"}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s on a replica: %v, want %q", name, err, want)
			}
		}
		if err := order(service.OrderBusy, service.OrderArgs{Node: "redis-1", For: 2 * time.Second}); err != nil {
			t.Error(err)
		}
		w.wants("PING", "timeout")
		if err := c.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "redis-1: it is paused") {
			t.Errorf("while a server is busy: %v", err)
		}
		if err := service.Poll(ctx, func() error { return c.Healthy(ctx) }); err != nil {
			t.Error(err)
		}
	})
}
