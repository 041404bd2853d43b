//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// TestFailoverLosesWhatReplicasHaveNotSeen shows the most important failure of this world: a lock whose grant no replica has
// received is granted again.
func TestFailoverLosesWhatReplicasHaveNotSeen(t *testing.T) {
	run(t, redistest.Spec(locks.Sentinel, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
		a, b := open(ctx, t, c, 1), open(ctx, t, c, 2)
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
		if err := c.Cluster.SetLinks(ctx, lag, world.LinkState{Delay: world.Delay{By: time.Minute}}); err != nil {
			return err
		}
		// The first try may meet a client that has not found the master yet.
		if err := soon(ctx, func(ctx context.Context) error { return acquire(ctx, a, "a") }); err != nil {
			return err
		}
		if err := c.Kill(ctx, old); err != nil {
			return err
		}
		err = service.Poll(ctx, func() error {
			now, err := c.Leader(ctx)
			if err == nil && now == old {
				err = errors.New("no promotion yet")
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := soon(ctx, func(ctx context.Context) error { return acquire(ctx, b, "b") }); err != nil {
			return fmt.Errorf("the grant should have been lost: %w", err)
		}
		if err := c.Healthy(ctx); err == nil {
			t.Error("a cluster without one of its nodes is not healthy")
		}
		if err := errors.Join(c.Cluster.SetLinks(ctx, lag, world.LinkState{}), c.Start(ctx, old, true)); err != nil {
			return err
		}
		return soon(ctx, c.Healthy)
	})
}

var attempts atomic.Int64

// acquire requests the key in a new session.
func acquire(ctx context.Context, c world.Client, owner string) error {
	r := lease60
	r.Owner = owner
	_, err := c.Conn().Acquire(ctx, fmt.Sprintf("%s.%d", owner, attempts.Add(1)), r)
	return err
}

func TestPromote(t *testing.T) {
	for _, try := range []struct {
		topology locks.Topology
		chosen   string
	}{{locks.Replicated, "redis-3"}, {locks.Sentinel, ""}} {
		t.Run(string(try.topology), func(t *testing.T) {
			run(t, redistest.Spec(try.topology, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
				a := open(ctx, t, c, 1)
				if err := soon(ctx, func(ctx context.Context) error { return acquire(ctx, a, "a") }); err != nil {
					return err
				}
				now, err := c.Abilities().Promote(ctx, try.chosen)
				if err != nil {
					return err
				}
				if now == "redis-1" || try.chosen != "" && now != try.chosen {
					t.Errorf("%s was promoted", now)
				}
				if err := soon(ctx, c.Healthy); err != nil {
					return err
				}
				// The key was replicated, so the answer is "taken" once it arrives.
				return soon(ctx, func(ctx context.Context) error {
					if err := acquire(ctx, a, "b"); !errors.Is(err, locks.ErrTaken) {
						return fmt.Errorf("not taken: %w", err)
					}
					return nil
				})
			})
		})
	}
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
		return soon(ctx, c.Healthy)
	})
}

func TestStartWithAndWithoutData(t *testing.T) {
	settings := map[string]string{"appendonly": "yes", "appendfsync": "always"}
	run(t, redistest.Spec(locks.Single, world.Spec{Settings: settings}), func(ctx context.Context, c *running) error {
		n := c.nodes[0]
		if _, err := redistest.Ask(ctx, n.addr(), "SET", "k", "v"); err != nil {
			return err
		}
		for _, keep := range []bool{true, false} {
			if err := c.Start(ctx, n.Name, keep); err == nil {
				t.Error("it is running")
			}
			if err := c.Kill(ctx, n.Name); err != nil {
				return err
			}
			if err := c.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "does not run") {
				t.Errorf("it was killed: %v", err)
			}
			if err := c.Start(ctx, n.Name, keep); err != nil {
				return err
			}
			got, err := redistest.Ask(ctx, n.addr(), "GET", "k")
			if err != nil || (got != nil) != keep {
				t.Errorf("kept %v: %v, %v", keep, got, err)
			}
		}
		return nil
	})
}

// TestCutConcernsItsLinksAlone cuts links of clients and of servers, in one direction and in both. A node that restarts during a
// cut stays cut off.
func TestCutConcernsItsLinksAlone(t *testing.T) {
	run(t, redistest.Spec(locks.Sentinel, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
		open(ctx, t, c, 1)
		open(ctx, t, c, 2)
		ping := func(from, to string) error {
			ctx, cancel := short(ctx)
			defer cancel()
			return c.Cluster.Ping(ctx, from, to, 0)
		}
		closed := []world.Link{{From: "client-1", To: "redis-2"}, {From: "sentinel-1", To: "redis-2"}, {From: "redis-2", To: "sentinel-1"}}
		check := func() {
			for _, l := range closed {
				if err := ping(l.From, l.To); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s should be cut: %v", l, err)
				}
			}
			for _, l := range []world.Link{{From: "client-2", To: "redis-2"}, {From: "client-1", To: "redis-3"}, {From: "sentinel-2", To: "redis-2"}, {From: "redis-2", To: "redis-1"}} {
				if err := soon(ctx, func(ctx context.Context) error { return c.Cluster.Ping(ctx, l.From, l.To, 0) }); err != nil {
					t.Errorf("%s should not be cut: %v", l, err)
				}
			}
		}
		// One direction of each: requests arrive, and no reply comes back.
		cut := []world.Link{{From: "redis-2", To: "client-1"}, {From: "redis-2", To: "sentinel-1"}}
		if err := c.Cluster.SetLinks(ctx, cut, world.LinkState{Cut: true}); err != nil {
			return err
		}
		check()
		if err := errors.Join(c.Kill(ctx, "redis-2"), c.Start(ctx, "redis-2", true)); err != nil {
			return err
		}
		check()
		if err := c.Cluster.SetLinks(ctx, cut, world.LinkState{}); err != nil {
			return err
		}
		for _, l := range closed {
			if err := soon(ctx, func(ctx context.Context) error { return c.Cluster.Ping(ctx, l.From, l.To, 0) }); err != nil {
				t.Errorf("%s should be whole: %v", l, err)
			}
		}
		if n := c.Requests("client-1").Counts()["PING"]; n != 0 {
			t.Errorf("our own PINGs count as the client's: %d", n)
		}
		if err := c.Cluster.SetLinks(ctx, []world.Link{{From: "client-9", To: "redis-1"}}, world.LinkState{Cut: true}); err == nil {
			t.Error("there is no client-9")
		}
		return soon(ctx, c.Healthy)
	})
}

// TestFaultsFindWhoFollowsDiscovery checks that a client of sentinels or of a cluster connects to the addresses that are made for
// it. It might reach the servers' own addresses, but faults would not affect such connections.
func TestFaultsFindWhoFollowsDiscovery(t *testing.T) {
	for _, topology := range []locks.Topology{locks.Sentinel, locks.Cluster} {
		t.Run(string(topology), func(t *testing.T) {
			run(t, redistest.Spec(topology, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
				inProcess, err := c.Open(ctx, world.ClientSpec{ID: 2, Opener: redistest.Open})
				if err != nil {
					return err
				}
				for name, client := range map[string]world.Client{"client-1": open(ctx, t, c, 1), "client-2": inProcess} {
					err := soon(ctx, func(ctx context.Context) error {
						if err := acquire(ctx, client, name); !errors.Is(err, locks.ErrTaken) {
							return err
						}
						return nil
					})
					if err != nil {
						return err
					}
					var cut []world.Link
					for _, n := range c.Topology().InPart("redis") {
						cut = append(cut, world.Link{From: name, To: n.Name})
					}
					if err := c.Cluster.SetLinks(ctx, cut, world.LinkState{Cut: true}); err != nil {
						return err
					}
					hasty, cancel := short(ctx)
					if err := acquire(hasty, client, name); err == nil || guest.Definite(err) {
						t.Errorf("%s was answered although all its links are cut: %v", name, err)
					}
					cancel()
					if err := c.Cluster.SetLinks(ctx, cut, world.LinkState{}); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// TestCutHolds checks that data that was sent over a cut link arrives after the join on the same connection.
func TestCutHolds(t *testing.T) {
	run(t, redistest.Spec(locks.Replicated, world.Spec{}), func(ctx context.Context, c *running) error {
		syncs := func() string {
			info, err := redistest.Ask(ctx, c.nodes[0].addr(), "INFO", "stats")
			if err != nil {
				t.Error(err)
			}
			_, after, _ := strings.Cut(fmt.Sprint(info), "sync_full:")
			count, _, _ := strings.Cut(after, "expired")
			return count
		}
		before := syncs()
		cut := []world.Link{{From: "redis-1", To: "redis-2"}}
		if err := c.Cluster.SetLinks(ctx, cut, world.LinkState{Cut: true}); err != nil {
			return err
		}
		if _, err := redistest.Ask(ctx, c.nodes[0].addr(), "SET", "k", "v"); err != nil {
			return err
		}
		has := func(n *node) func(context.Context) error {
			return func(ctx context.Context) error {
				got, err := redistest.Ask(ctx, n.addr(), "GET", "k")
				if err == nil && got != "v" {
					err = fmt.Errorf("%s has %v", n.Name, got)
				}
				return err
			}
		}
		if err := soon(ctx, has(c.nodes[2])); err != nil {
			return err
		}
		if err := has(c.nodes[1])(ctx); err == nil {
			t.Error("redis-2 is cut off and has heard of it all the same")
		}
		if err := c.Cluster.SetLinks(ctx, cut, world.LinkState{}); err != nil {
			return err
		}
		if err := soon(ctx, has(c.nodes[1])); err != nil {
			return err
		}
		if after := syncs(); after != before {
			t.Errorf("the connection was made again: %q, %q", before, after)
		}
		return nil
	})
}

// TestLagBetweenServers is a lag too short to be a cut: it goes through the proxy, and delayed data arrives while it
// lasts.
func TestLagBetweenServers(t *testing.T) {
	run(t, redistest.Spec(locks.Replicated, world.Spec{}), func(ctx context.Context, c *running) error {
		const lag = 300 * time.Millisecond
		links := []world.Link{{From: "redis-1", To: "redis-2"}}
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{Delay: world.Delay{By: lag}}); err != nil {
			return err
		}
		slow := func(ctx context.Context) error {
			began := time.Now()
			if err := c.Abilities().Nudge(ctx, "redis-1"); err != nil {
				return err
			}
			want := c.Abilities().Offsets(ctx)["redis-1"]
			for c.Abilities().Offsets(ctx)["redis-2"] < want {
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			if took := time.Since(began); took < lag {
				return fmt.Errorf("redis-2 followed after %v", took)
			}
			return nil
		}
		// The replica reconnects, through the proxy, at most once a second.
		patient, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		// Several answers in a row must be late, because a single one may be late on a busy machine.
		var err error
		for inRow := 0; inRow < 5; inRow++ {
			if err = slow(patient); patient.Err() != nil {
				return fmt.Errorf("not slow: %w", err)
			} else if err != nil {
				inRow = -1
			}
		}
		if at := c.Abilities().Offsets(ctx); at["redis-3"] < at["redis-1"] {
			t.Logf("redis-3, which is not concerned, stands at %d of %d", at["redis-3"], at["redis-1"])
		}
		// A cut also affects the connections through the proxy.
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{Cut: true, Delay: world.Delay{By: lag}}); err != nil {
			return err
		}
		hasty, cancelPing := short(ctx)
		defer cancelPing()
		if err := c.Cluster.Ping(hasty, "redis-2", "redis-1", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the relayed way should be cut: %v", err)
		}
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{}); err != nil {
			return err
		}
		return soon(ctx, c.Healthy)
	})
}

// TestDropBetweenServers drops what a leader sends to one of its followers, whose connection leads through the proxy then.
func TestDropBetweenServers(t *testing.T) {
	run(t, redistest.Spec(locks.Replicated, world.Spec{}), func(ctx context.Context, c *running) error {
		links := []world.Link{{From: "redis-1", To: "redis-2"}}
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{Drop: true}); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		follows := func(node string) func(context.Context) error {
			return func(ctx context.Context) error {
				if at := c.Abilities().Offsets(ctx); at[node] < at["redis-1"] {
					return fmt.Errorf("%s stands at %d of %d", node, at[node], at["redis-1"])
				}
				return nil
			}
		}
		if err := soon(ctx, func(ctx context.Context) error {
			hasty, cancel := short(ctx)
			defer cancel()
			if c.Cluster.Ping(hasty, "redis-2", "redis-1", 0) == nil {
				return errors.New("a reply of redis-1 arrived")
			}
			return ctx.Err()
		}); err != nil {
			return err
		}
		if err := c.Abilities().Nudge(ctx, "redis-1"); err != nil {
			return err
		}
		if err := soon(ctx, follows("redis-3")); err != nil {
			return err
		}
		if err := follows("redis-2")(ctx); err == nil {
			t.Error("redis-2 followed although everything for it is dropped")
		}
		if err := c.Cluster.SetLinks(ctx, links, world.LinkState{}); err != nil {
			return err
		}
		return errors.Join(soon(ctx, follows("redis-2")), soon(ctx, c.Healthy))
	})
}

func TestPauseNode(t *testing.T) {
	run(t, redistest.Spec(locks.Single, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
		a := open(ctx, t, c, 1)
		if err := c.PauseNode(ctx, "redis-1"); err != nil {
			return err
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
		return soon(ctx, c.Healthy)
	})
}

func TestForeignGuest(t *testing.T) {
	foreign := world.ClientSpec{Command: "exec " + testProgram + " foreign"}
	t.Run("has links of its own", func(t *testing.T) {
		run(t, redistest.Spec(locks.Single, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
			var both []world.Client
			for id := 1; id <= 2; id++ {
				foreign.ID = id
				client, err := c.Open(ctx, foreign)
				if err != nil {
					return err
				}
				both = append(both, client)
			}
			if err := c.Cluster.SetLinks(ctx, []world.Link{{From: "client-1", To: "redis-1"}}, world.LinkState{Cut: true}); err != nil {
				return err
			}
			hasty, cancel := short(ctx)
			defer cancel()
			if _, err := both[0].Conn().Acquire(hasty, "1.1", lease60); err == nil {
				t.Error("the cut did not find client-1")
			}
			_, err := both[1].Conn().Acquire(ctx, "2.1", lease60)
			return err
		})
	})
	t.Run("is unsupported behind sentinels", func(t *testing.T) {
		run(t, redistest.Spec(locks.Sentinel, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
			foreign.ID = 1
			_, err := c.Open(ctx, foreign)
			if !errors.As(err, new(world.Unsupported)) || !strings.Contains(err.Error(), "addr_map") {
				t.Errorf("it should be refused, with the reason: %v", err)
			}
			return nil
		})
	})
}
