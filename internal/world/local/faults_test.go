//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

var lease60 = locks.Request{Keys: []string{"k"}, Owner: "o", TTL: time.Minute}

// TestFailoverLosesWhatReplicasHaveNotSeen shows the most important failure of this world: a lock whose grant no replica
// has received is granted again. The test does it twice in one cluster, which must recover completely in between.
func TestFailoverLosesWhatReplicasHaveNotSeen(t *testing.T) {
	run(t, redistest.Spec(locks.Sentinel, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
		for episode := range 2 {
			old, err := c.Leader(ctx)
			if err != nil {
				return err
			}
			var lag []world.Link
			for _, n := range c.Topology().InPart("redis") {
				if n.Name != old {
					lag = append(lag, world.Link{From: old, To: n.Name})
				}
			}
			r := lease60
			r.Keys = []string{fmt.Sprint("k", episode)}
			a, b := open(ctx, t, c, 2*episode+1), open(ctx, t, c, 2*episode+2)
			if err := c.SetLinks(ctx, lag, world.LinkState{Delay: world.Delay{By: time.Minute}}); err != nil {
				return err
			}
			before := c.Abilities().Offsets(ctx)
			if _, err := a.Conn().Acquire(ctx, "a", r); err != nil {
				return err
			}
			if err := c.Abilities().Nudge(ctx, old); err != nil {
				return err
			}
			after := c.Abilities().Offsets(ctx)
			for _, l := range lag {
				if after[old] <= before[old] || after[l.To] >= after[old] {
					t.Errorf("%s should lag: before %v, after %v", l.To, before, after)
				}
			}
			if err := c.Kill(ctx, old); err != nil {
				return err
			}
			killed := time.Now()
			var master string
			err = service.Poll(ctx, func() error {
				var err error
				if master, err = c.Leader(ctx); err == nil && master == old {
					err = errors.New("no promotion yet")
				}
				return err
			})
			if err != nil {
				return err
			}
			t.Logf("%s was promoted after %v", master, time.Since(killed).Round(time.Millisecond))
			// Wait until the promoted node accepts writes.
			attempt := 0
			err = service.Poll(ctx, func() error {
				attempt++
				_, err := b.Conn().Acquire(ctx, fmt.Sprint("b", attempt), r)
				if errors.Is(err, locks.ErrTaken) {
					t.Error("the grant should have been lost")
					return nil
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := c.Healthy(ctx); err == nil {
				t.Error("a cluster without one of its nodes is not healthy")
			}
			healing := time.Now()
			if err := c.SetLinks(ctx, lag, world.LinkState{}); err != nil {
				return err
			}
			if err := c.Start(ctx, old, true); err != nil {
				return err
			}
			if err := service.Poll(ctx, func() error { return c.Healthy(ctx) }); err != nil {
				return err
			}
			t.Logf("healthy %v later", time.Since(healing).Round(time.Millisecond))
			// The leader may have changed, because a second failover may follow a heal.
			if masters := c.Leaders(ctx); len(masters) != 1 {
				t.Errorf("masters are %v", masters)
			}
		}
		return nil
	})
}

func TestPromote(t *testing.T) {
	for _, topology := range []locks.Topology{locks.Replicated, locks.Sentinel} {
		for _, chosen := range []string{"", "redis-3"} {
			t.Run(string(topology)+" "+chosen, func(t *testing.T) {
				run(t, redistest.Spec(topology, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
					a := open(ctx, t, c, 1)
					if _, err := a.Conn().Acquire(ctx, "1", lease60); err != nil {
						return err
					}
					now, err := c.Abilities().Promote(ctx, chosen)
					if err != nil {
						return err
					}
					if now == "redis-1" || chosen != "" && now != chosen {
						t.Errorf("%s was promoted", now)
					}
					if err := service.Poll(ctx, func() error { return c.Healthy(ctx) }); err != nil {
						return err
					}
					// The key was replicated, so the answer is "taken" once it arrives.
					attempt := 1
					return service.Poll(ctx, func() error {
						attempt++
						_, err := a.Conn().Acquire(ctx, fmt.Sprint(attempt), lease60)
						if errors.Is(err, locks.ErrTaken) {
							return nil
						}
						return fmt.Errorf("not taken: %w", err)
					})
				})
			})
		}
	}
}

// TestPromoteIsOrderedAgain checks that the next sentinel gets the order for a failover if the first one dies of it.
func TestPromoteIsOrderedAgain(t *testing.T) {
	run(t, redistest.Spec(locks.Sentinel, world.Spec{}), func(ctx context.Context, c *running) error {
		first := c.nodes[slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == "sentinel-1" })]
		if _, err := redistest.Ask(ctx, first.real, "SENTINEL", "SIMULATE-FAILURE", "crash-after-election"); err != nil {
			return err
		}
		now, err := c.Abilities().Promote(ctx, "")
		if err == nil && now == "redis-1" {
			t.Error("no node was promoted")
		}
		return err
	})
}

// TestPromoteAfterKill promotes a replica by hand while the old master is dead. The old master returns as a replica.
func TestPromoteAfterKill(t *testing.T) {
	run(t, redistest.Spec(locks.Replicated, world.Spec{}), func(ctx context.Context, c *running) error {
		if err := c.Kill(ctx, "redis-1"); err != nil {
			return err
		}
		if _, err := c.Abilities().Promote(ctx, ""); err != nil {
			return err
		}
		if err := c.Start(ctx, "redis-1", false); err != nil {
			return err
		}
		return service.Poll(ctx, func() error { return c.Healthy(ctx) })
	})
}

func TestStartWithAndWithoutData(t *testing.T) {
	settings := map[string]string{"appendonly": "yes", "appendfsync": "always"}
	run(t, redistest.Spec(locks.Single, world.Spec{Settings: settings}), func(ctx context.Context, c *running) error {
		n := c.nodes[0]
		if _, err := redistest.Ask(ctx, n.real, "SET", "k", "v"); err != nil {
			return err
		}
		for _, keep := range []bool{true, false} {
			if err := c.Start(ctx, n.Name, keep); err == nil {
				t.Error("it is running")
			}
			if err := errors.Join(c.Kill(ctx, n.Name), c.Start(ctx, n.Name, keep)); err != nil {
				return err
			}
			got, err := redistest.Ask(ctx, n.real, "GET", "k")
			if err != nil || (got != nil) != keep {
				t.Errorf("kept %v: %v, %v", keep, got, err)
			}
		}
		return nil
	})
}

// short is how long tests wait for an event that must not happen. If it is too short, a test passes wrongly but never fails.
func short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 100*time.Millisecond)
}

func TestCutConcernsOneClient(t *testing.T) {
	run(t, redistest.Spec(locks.Sentinel, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
		open(ctx, t, c, 1)
		open(ctx, t, c, 2)
		cut := []world.Link{{From: "redis-1", To: "client-1"}, {From: "sentinel-1", To: "redis-1"}}
		ping := func(from, to string) error {
			ctx, cancel := short(ctx)
			defer cancel()
			return c.Ping(ctx, from, to, 0)
		}
		if err := c.SetLinks(ctx, cut, world.LinkState{Cut: true}); err != nil {
			return err
		}
		for _, l := range []world.Link{{From: "client-1", To: "redis-1"}, {From: "sentinel-1", To: "redis-1"}} {
			if err := ping(l.From, l.To); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s should be cut: %v", l, err)
			}
		}
		for _, l := range []world.Link{{From: "client-2", To: "redis-1"}, {From: "client-1", To: "redis-2"}, {From: "sentinel-2", To: "redis-1"}} {
			if err := c.Ping(ctx, l.From, l.To, 0); err != nil {
				t.Errorf("%s should not be cut: %v", l, err)
			}
		}
		if err := c.SetLinks(ctx, cut, world.LinkState{}); err != nil {
			return err
		}
		if n := c.Requests("client-1").Counts()["PING"]; n != 0 {
			t.Errorf("our own PINGs count as the client's: %d", n)
		}
		if err := c.SetLinks(ctx, []world.Link{{From: "client-9", To: "redis-1"}}, world.LinkState{Cut: true}); err == nil {
			t.Error("there is no client-9")
		}
		return c.Ping(ctx, "client-1", "redis-1", 0)
	})
}

func TestPauseNode(t *testing.T) {
	run(t, redistest.Spec(locks.Single, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
		a := open(ctx, t, c, 1)
		if err := c.PauseNode(ctx, "redis-1"); err != nil {
			return err
		}
		if !c.nodes[0].process.Still() {
			t.Error("it runs")
		}
		hasty, cancel := short(ctx)
		defer cancel()
		if _, err := a.Conn().Acquire(hasty, "1", lease60); err == nil || guest.Definite(err) {
			t.Errorf("nothing is known of a request to a stopped server: %v", err)
		}
		if err := c.Healthy(ctx); err == nil || err.Error() != "redis-1: it is paused" {
			t.Errorf("it is paused: %v", err)
		}
		if err := c.ResumeNode(ctx, "redis-1"); err != nil {
			return err
		}
		return c.Healthy(ctx)
	})
}
