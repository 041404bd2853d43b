//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks"
)

// clients are the ways in which a lock can run.
var clients = map[string]world.ClientSpec{
	"own":        {Lock: "plain"},
	"foreign":    {Command: "echo to stderr >&2; " + os.Args[0] + " foreign; exit 0"},
	"in process": {Opener: redistest.Open},
}

func TestPauseAndKillClient(t *testing.T) {
	for name, spec := range clients {
		t.Run(name, func(t *testing.T) {
			run(t, redistest.Spec(locks.Single, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
				spec.ID = 1
				a, err := c.Open(ctx, spec)
				if err != nil {
					return err
				}
				if _, err := a.Conn().Acquire(ctx, "1.1", lease60); err != nil {
					return err
				}
				if err := a.Pause(ctx); err != nil {
					return err
				}
				if ch, ok := a.(*process.Client); ok && !ch.Process().Still() {
					t.Error("it runs")
				}
				hasty, cancel := short(ctx)
				defer cancel()
				if err := a.Conn().Touch(hasty, "1.1"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a paused client answers: %v", err)
				}
				if err := a.Resume(ctx); err != nil {
					return err
				}
				if err := a.Conn().Touch(ctx, "1.1"); err != nil {
					return err
				}
				if err := a.Pause(ctx); err != nil { // a stopped client dies too
					return err
				}
				if err := a.Kill(ctx); err != nil {
					return err
				}
				<-a.Conn().Gone()
				if holder, err := redistest.Ask(ctx, c.nodes[0].real, "GET", "k"); holder != "o" {
					t.Errorf("a killed client has released its lock: %v, %v", holder, err)
				}
				if _, err := c.Open(ctx, spec); err == nil {
					t.Error("the number 1 was used before")
				}
				return a.Close(ctx)
			})
		})
	}
}

func TestForeignGuestHasLinksOfItsOwn(t *testing.T) {
	for _, topology := range []locks.Topology{locks.Single, locks.Replicated, locks.Independent} {
		t.Run(string(topology), func(t *testing.T) {
			spec := redistest.Spec(topology, world.Spec{Clients: 2})
			if topology == locks.Independent {
				spec.Topology = spec.Topology.Sized(3)
			}
			run(t, spec, func(ctx context.Context, c *running) error {
				var conns []world.Client
				for id := 1; id <= 2; id++ {
					spec := clients["foreign"]
					spec.ID = id
					client, err := c.Open(ctx, spec)
					if err != nil {
						return err
					}
					conns = append(conns, client)
				}
				if err := c.SetLinks(ctx, []world.Link{{From: "client-1", To: "redis-1"}}, world.LinkState{Cut: true}); err != nil {
					return err
				}
				hasty, cancel := short(ctx)
				defer cancel()
				if _, err := conns[0].Conn().Acquire(hasty, "1.1", lease60); err == nil {
					t.Error("the cut did not find client-1")
				}
				if _, err := conns[1].Conn().Acquire(ctx, "2.1", lease60); err != nil {
					t.Errorf("client-2 is not cut: %v", err)
				}
				return nil
			})
		})
	}
}

// reaches waits until a client gets an answer from the servers. The client's limits are short, and the machine may be busy.
func reaches(ctx context.Context, client world.Client, key string) error {
	tries := 0
	return service.Poll(ctx, func() error {
		tries++
		r := locks.Request{Keys: []string{key}, Owner: "o", TTL: lease60.TTL}
		_, err := client.Conn().Acquire(ctx, fmt.Sprint(key, tries), r)
		if errors.Is(err, locks.ErrTaken) { // an earlier try without an answer was granted
			return nil
		}
		return err
	})
}

// Servers redirect all clients to the same addresses. The connections of a guest that does not bind
// them are found by the kernel, also those of its child processes, so faults on its links affect it alone.
func TestForeignGuestThatDiscovers(t *testing.T) {
	below := clients["foreign"]
	below.Command = "setsid " + os.Args[0] + " foreign; exit 0"
	for _, topology := range []locks.Topology{locks.Sentinel, locks.Cluster} {
		for name, spec := range map[string]world.ClientSpec{"itself": clients["foreign"], "a child": below} {
			t.Run(string(topology)+", "+name, func(t *testing.T) {
				run(t, redistest.Spec(topology, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
					var opened []world.Client
					for id := 1; id <= 2; id++ {
						spec.ID = id
						client, err := c.Open(ctx, spec)
						if err != nil {
							return err
						}
						opened = append(opened, client)
						// So it has connections before the links are cut.
						if err := reaches(ctx, client, fmt.Sprint(id, ".a")); err != nil {
							return err
						}
					}
					var links []world.Link
					for _, n := range c.Nodes() {
						links = append(links, world.Link{From: "client-1", To: n.Name})
					}
					if err := c.SetLinks(ctx, links, world.LinkState{Cut: true}); err != nil {
						return err
					}
					hasty, cancel := short(ctx)
					defer cancel()
					if _, err := opened[0].Conn().Acquire(hasty, "1.1", lease60); err == nil {
						t.Error("the cut did not find client-1")
					}
					if err := reaches(ctx, opened[1], "2.b"); err != nil {
						t.Errorf("client-2 is not cut: %v", err)
					}
					for id, want := range map[string]int{"client-1": 1, "client-2": 2} {
						if n := c.Requests(id).Counts()["SET"]; n < want {
							t.Errorf("%s sent %d SETs through the proxy: %v", id, n, c.Requests(id).Counts())
						}
					}
					if n := c.Net.Rejected(); n > 0 {
						log, _ := os.ReadFile(filepath.Join(c.Spec.LogDir, "network.log"))
						t.Errorf("%d connections were turned away: %s", n, log)
					}
					return nil
				})
			})
		}
	}
}

// A connection that belongs to no client is rejected.
func TestStrangerIsTurnedAway(t *testing.T) {
	run(t, redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c *running) error {
		if _, err := redistest.Ask(ctx, c.Machines.Addr("redis-1"), "PING"); err == nil {
			t.Error("a stranger was let in")
		}
		if c.Net.Rejected() == 0 {
			t.Error("it was not counted")
		}
		log, err := os.ReadFile(filepath.Join(c.Spec.LogDir, "network.log"))
		if !strings.Contains(string(log), "no process of lockbench has it open") {
			t.Errorf("the network's log says %q, %v", log, err)
		}
		return nil
	})
}

func TestGuestThatEndsAtOnce(t *testing.T) {
	run(t, redistest.Spec(locks.None, world.Spec{}), func(ctx context.Context, c *running) error {
		_, err := c.Open(ctx, world.ClientSpec{ID: 1, Command: "echo no such module: redis >&2; exit 3"})
		if err == nil || !strings.Contains(err.Error(), "no such module") {
			t.Errorf("the error should quote the guest: %v", err)
		}
		return nil
	})
}

// TestResendsAreCounted counts the requests of a client library. A library that resends requests returns "taken" to the
// client that holds the lock.
func TestResendsAreCounted(t *testing.T) {
	for retries, want := range map[int]struct {
		sets   int
		answer string
	}{
		3:  {2, "taken"},
		-1: {1, "unknown"},
	} {
		t.Run(fmt.Sprint("MaxRetries ", retries), func(t *testing.T) {
			run(t, redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c *running) error {
				redis.SetLogger(redistest.Silent{})
				opener := func(_ context.Context, lc locks.Client) (locks.Locker, error) {
					return redistest.Plain{Client: redis.NewClient(&redis.Options{
						Addr: lc.Store.Nodes()[0].Addr, Dialer: lc.Store.Dial, MaxRetries: retries,
					})}, nil
				}
				a, err := c.Open(ctx, world.ClientSpec{ID: 1, Opener: opener})
				if err != nil {
					return err
				}
				// The connection is opened first, so that the reply of SET is lost.
				if _, err := a.Conn().Acquire(ctx, "1.0", locks.Request{Keys: []string{"other"}, Owner: "o"}); err != nil {
					return err
				}
				before := c.Requests("client-1").Counts()["SET"]
				replies := world.Link{From: "redis-1", To: "client-1"}
				if err := c.SetLinks(ctx, []world.Link{replies}, world.LinkState{Drop: true}); err != nil {
					return err
				}
				answer := make(chan error, 1)
				go func() {
					_, err := a.Conn().Acquire(ctx, "1.1", lease60)
					answer <- err
				}()
				err = service.Poll(ctx, func() error {
					if c.Net.Lost(replies) == 0 {
						return errors.New("no reply was lost")
					}
					return nil
				})
				if err != nil {
					return err
				}
				if err := c.SetLinks(ctx, []world.Link{replies}, world.LinkState{}); err != nil {
					return err
				}
				err = <-answer
				got := "unknown"
				switch {
				case err == nil:
					got = "granted"
				case errors.Is(err, locks.ErrTaken):
					got = "taken"
				}
				sets := c.Requests("client-1").Counts()["SET"] - before
				if got != want.answer || sets != want.sets {
					t.Errorf("%d SETs and the answer %s (%v); want %d and %s", sets, got, err, want.sets, want.answer)
				}
				if holder, err := redistest.Ask(ctx, c.nodes[0].real, "GET", "k"); holder != "o" {
					t.Errorf("the client should hold it all the same: %v, %v", holder, err)
				}
				return nil
			})
		})
	}
}
