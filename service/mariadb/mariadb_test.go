//go:build linux

package mariadb

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/local"
	"lockbench/internal/world/shim"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/operator"
)

func TestVersion(t *testing.T) {
	for output, want := range map[string]struct {
		version string
		enough  bool
	}{
		"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n": {"10.11.19", true},
		"/opt/mariadbd  Ver 11.4.2-MariaDB for Linux":                                           {"11.4.2", true},
		"mysqld  Ver 10.4.34-MariaDB for Linux":                                                 {"10.4.34", false},
		"/usr/sbin/mysqld  Ver 8.0.40 for Linux on x86_64 (MySQL Community Server - GPL)":       {},
	} {
		got, enough, err := version(output)
		if got != want.version || enough != want.enough || (err == nil) != (want.version != "") {
			t.Errorf("%q: %q, %v, %v", output, got, enough, err)
		}
	}
}

func place(form service.Topology, settings map[string]string) service.Place {
	return service.Place{
		Node: form.Nodes()[0], Topology: form, Settings: settings, Bind: netip.MustParseAddr("127.0.0.1"), Port: 7000,
		Announced: netip.MustParseAddrPort("127.0.0.65:7000"), Config: "/config", Data: "/config/data",
	}
}

// text is all that a server is started with.
func text(at service.Place) string {
	p := Service.Program(at)
	all := strings.Join(p.Args, "\n")
	for path, file := range p.Files {
		all += "\n" + path + "\n" + file
	}
	return all
}

// A scenario may set exactly the settings that lockbench does not decide.
func TestSettings(t *testing.T) {
	form, _ := service.Find(Service, operator.Managed)
	given := map[string]string{}
	for _, s := range Service.Settings {
		given[s.Name] = "given-" + s.Name
	}
	at := place(form, given)
	at.Leader = &at.Announced
	all := text(at)
	for _, s := range Service.Settings {
		own := s.Name == operator.FailoverAfter || strings.HasPrefix(s.Name, "semi")
		if taken := strings.Contains(all, "given-"+s.Name); taken != (s.Decided == "" && !own) {
			t.Errorf("%s of a scenario is taken: %v; decided: %q", s.Name, taken, s.Decided)
		}
	}
}

// run runs servers in world local, or skips the test where there are none.
func run(t *testing.T, form locks.Topology, do func(ctx context.Context, c world.Cluster)) {
	t.Helper()
	w := local.New(local.Options{Services: []*service.Service{Service}})
	needs.OrSkip(t, Name, w.Ready(t.Context()))
	found, _ := service.Find(Service, form)
	err := w.Run(t.Context(), world.Spec{Service: Service, Topology: found, Clients: 1, Clocks: true}, func(ctx context.Context, c world.Cluster) error {
		do(ctx, c)
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

// A server that is killed comes back with its data or without, and its clock can be wrong.
func TestSingle(t *testing.T) {
	run(t, locks.Single, func(ctx context.Context, c world.Cluster) {
		servers, killer := c.(*cluster.Cluster).Group.(*servers), c
		node := c.Nodes()[0].Name
		lives := func(when string, keep, there bool) {
			t.Helper()
			if err := killer.Kill(ctx, node); err != nil {
				t.Fatal(err)
			}
			if err := servers.Answers(ctx, node); err == nil {
				t.Errorf("%s: killed, it answers", when)
			}
			if err := killer.Start(ctx, node, keep); err != nil {
				t.Fatal(err)
			}
			if err := servers.look(ctx, node); (err == nil) != there {
				t.Errorf("%s: the table is there: %v, want %v", when, err, there)
			}
		}
		if err := servers.write(ctx, node); err != nil {
			t.Fatal(err)
		}
		lives("data kept", true, true)
		lives("data lost", false, false)
		clock := c
		if err := shim.Ready(); err != nil {
			t.Skip(err)
		}
		if err := clock.ShiftClock(ctx, node, time.Minute, 0); err != nil {
			t.Fatal(err)
		}
		if by, err := servers.ClockOffset(ctx, node); err != nil || (by-time.Minute).Abs() > 10*time.Second {
			t.Errorf("its clock is wrong by %v, %v", by, err)
		}
	})
}

// write makes a table, and look reads it.
func (g *servers) write(ctx context.Context, node string) error {
	return g.Order(ctx, node, service.AskLimit, "CREATE TABLE test.mark (n INT)")
}

func (g *servers) look(ctx context.Context, node string) error {
	return g.Order(ctx, node, service.AskLimit, "INSERT INTO test.mark VALUES (1)")
}

// Transactions that a primary has committed and its replicas have received survive it: a replica is
// promoted, and the old primary follows it.
func TestManaged(t *testing.T) {
	run(t, operator.Managed, func(ctx context.Context, c world.Cluster) {
		servers, killer := c.(*cluster.Cluster).Group.(*servers), c
		old := servers.Lead()
		if err := servers.write(ctx, old); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "the replicas have received all", func() error { return servers.level(ctx) })
		if err := killer.Kill(ctx, old); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "another one leads", func() error {
			if servers.Lead() == old {
				return os.ErrNotExist
			}
			return servers.look(ctx, servers.Lead())
		})
		if err := killer.Start(ctx, old, true); err != nil {
			t.Fatal(err)
		}
		await(t, ctx, "all follow the new one", func() error { return c.Healthy(ctx) })
		await(t, ctx, "the old one has what the new one has", func() error { return servers.level(ctx) })
		if leaders := c.Leaders(ctx); len(leaders) != 1 || leaders[0] == old {
			t.Errorf("leaders are %v, and %s has led", leaders, old)
		}
	})
}

// level is nil if all have received the same.
func (g *servers) level(ctx context.Context) error {
	at := g.Offsets(ctx)
	for _, n := range g.Nodes() {
		if at[n.Name] != at[g.Lead()] {
			return os.ErrNotExist
		}
	}
	return nil
}
