//go:build linux

package servicetest

import (
	"context"
	"os"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/operator"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/local"
	"lockbench/internal/world/shim"
	"lockbench/locks"
)

// Managed is a replicated database whose failovers lockbench manages.
type Managed struct {
	Service     *service.Service
	Write, Read string // statements: the first one makes a table, the second one fails without it
}

// managed is the group of servers of a managed database.
type managed interface {
	service.Servers
	ClockOffset(ctx context.Context, node string) (time.Duration, error)
	Offsets(context.Context) map[string]int64
	Order(ctx context.Context, node string, limit time.Duration, statements ...string) error
}

// run runs servers in world local, or skips the test if there are none.
func (m Managed) run(t *testing.T, form locks.Topology, do func(ctx context.Context, c *cluster.Cluster, servers managed)) {
	t.Helper()
	w := local.New(local.Options{Services: []*service.Service{m.Service}})
	needs.OrSkip(t, m.Service.Name, w.Ready(t.Context()))
	found, _ := service.Find(m.Service, form)
	err := w.Run(t.Context(), world.Spec{Service: m.Service, Topology: found, Clients: 1, Clocks: true}, func(ctx context.Context, c world.Cluster) error {
		all := c.(*cluster.Cluster)
		do(ctx, all, all.Servers.(managed))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, ctx context.Context, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := service.Poll(ctx, try); err != nil {
		t.Fatalf("in a minute it was not seen that %s: %v", what, err)
	}
}

// Restarts kills a server, which comes back with its data or without, and shifts its clock.
func (m Managed) Restarts(t *testing.T) {
	m.run(t, locks.Single, func(ctx context.Context, c *cluster.Cluster, servers managed) {
		node := c.Nodes()[0].Name
		lives := func(when string, keep, there bool) {
			t.Helper()
			if err := c.Kill(ctx, node); err != nil {
				t.Fatal(err)
			}
			if err := servers.Answers(ctx, node); err == nil {
				t.Errorf("%s: killed, it answers", when)
			}
			if err := c.Start(ctx, node, keep); err != nil {
				t.Fatal(err)
			}
			if err := servers.Order(ctx, node, service.AskLimit, m.Read); (err == nil) != there {
				t.Errorf("%s: the table is there: %v, want %v", when, err, there)
			}
		}
		if err := servers.Order(ctx, node, service.AskLimit, m.Write); err != nil {
			t.Fatal(err)
		}
		lives("data kept", true, true)
		lives("data lost", false, false)
		needs.OrSkip(t, "local", shim.Ready())
		if err := c.ShiftClock(ctx, node, time.Minute, 0); err != nil {
			t.Fatal(err)
		}
		if by, err := servers.ClockOffset(ctx, node); err != nil || (by-time.Minute).Abs() > 10*time.Second {
			t.Errorf("its clock is wrong by %v, %v", by, err)
		}
	})
}

// FailsOver kills the primary: a replica that has received all transactions is promoted, and the old primary follows it.
func (m Managed) FailsOver(t *testing.T) {
	m.run(t, operator.Managed, func(ctx context.Context, c *cluster.Cluster, servers managed) {
		level := func() error {
			at := servers.Offsets(ctx)
			for _, n := range c.Nodes() {
				if at[n.Name] != at[servers.Lead()] {
					return os.ErrNotExist
				}
			}
			return nil
		}
		old := servers.Lead()
		if err := servers.Order(ctx, old, service.AskLimit, m.Write); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "the replicas have received all", level)
		if err := c.Kill(ctx, old); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "another one leads", func() error {
			if servers.Lead() == old {
				return os.ErrNotExist
			}
			return servers.Order(ctx, servers.Lead(), service.AskLimit, m.Read)
		})
		if err := c.Start(ctx, old, true); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "all follow the new one", func() error { return c.Healthy(ctx) })
		await(t, ctx, "the old one has what the new one has", level)
		if leaders := c.Leaders(ctx); len(leaders) != 1 || leaders[0] == old {
			t.Errorf("leaders are %v, and %s has led", leaders, old)
		}
	})
}
