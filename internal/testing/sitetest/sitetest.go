//go:build linux

// Package sitetest runs servers for the tests of world external.
package sitetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/report"
	"lockbench/internal/service"
	"lockbench/internal/testing/hooktest"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/external"
	"lockbench/internal/world/local"
	"lockbench/locks"
)

// Site is a group of servers of a service that world local runs. World external reaches them
// at their own addresses, and can break the links between them by hooks.
type Site struct {
	Service *service.Service
	Cluster world.Cluster
	Addrs   map[string]string // where they listen, by their names
	Dir     string

	orders *hooktest.Orders
	mu     sync.Mutex
	lost   map[string]bool // whose data is to be gone when they are started
}

// New starts servers, or skips the test where their program is not there. They end with the
// test. A program is looked for as world local does, if none is named.
func New(t testing.TB, s *service.Service, topology locks.Topology, program string) *Site {
	t.Helper()
	o, need := local.Options{Services: []*service.Service{s}}, s.Name
	if program != "" {
		need = "local"
		o.Programs = map[string]string{s.Name: program}
	}
	w := local.New(o)
	needs.OrSkip(t, need, w.Ready(t.Context()))
	form, ok := service.Find(s, topology)
	if !ok {
		t.Fatalf("%s has no topology %q", s.Name, topology)
	}
	site := &Site{Service: s, Addrs: map[string]string{}, Dir: t.TempDir(), lost: map[string]bool{}}
	up, down, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- w.Run(context.Background(), world.Spec{Service: s, Topology: form}, func(_ context.Context, c world.Cluster) error {
			site.Cluster = c
			close(up)
			<-down
			return nil
		})
	}()
	select {
	case <-up:
	case err := <-over:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(down)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	for _, n := range form.Nodes() {
		c, err := site.Dial(t.Context(), n.Name)
		if err != nil {
			t.Fatal(err)
		}
		site.Addrs[n.Name] = c.RemoteAddr().String()
		c.Close()
	}
	site.orders = hooktest.Listen(t, site.Addrs, site.obey)
	t.Cleanup(site.orders.Close)
	return site
}

// Dial connects to a server.
func (s *Site) Dial(ctx context.Context, node string) (net.Conn, error) {
	return s.Cluster.(*cluster.Cluster).Machines.Dial(ctx, node)
}

// Hosts are the addresses of the nodes, with commas between.
func (s *Site) Hosts() string {
	var all []string
	for _, n := range s.Cluster.Nodes() {
		all = append(all, s.Addrs[n.Name])
	}
	return strings.Join(all, ",")
}

// Hooks writes a file of hooks that do to these servers what they say.
func (s *Site) Hooks(own ...string) string { return s.orders.File(s.Dir, own...) }

func (s *Site) obey(order string, nodes []string) error {
	ctx := context.Background()
	c, node := s.Cluster, nodes[0]
	switch order {
	case "kill":
		return c.Kill(ctx, node)
	case "wipe":
		s.forget(node, true)
		return nil
	case "start":
		keep := !s.forget(node, false)
		return c.Start(ctx, node, keep)
	case "pause":
		return c.PauseNode(ctx, node)
	case "resume":
		return c.ResumeNode(ctx, node)
	case "promote":
		promote := c.Abilities().Promote
		if promote == nil {
			return fmt.Errorf("the cluster cannot promote %s", node)
		}
		_, err := promote(ctx, node)
		return err
	case "cut", "join":
		links := []world.Link{{From: node, To: nodes[1]}}
		return c.SetLinks(ctx, links, world.LinkState{Cut: order == "cut"})
	}
	return fmt.Errorf("no order is called %q", order)
}

// forget notes whether a node is to lose its data, and says whether it was to.
func (s *Site) forget(node string, is bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.lost[node]
	s.lost[node] = is
	return was
}

// Pointless reports whether a run of one episode is undecided only because the point of its scenario did not happen. Real
// servers elect a leader in their own time, and the tests of a site are about the servers and not about the lock.
func Pointless(err error, said []byte) bool {
	exit := new(exec.ExitError)
	return errors.As(err, &exit) && exit.ExitCode() == report.ExitUnknown && strings.Contains(string(said), "no episode counts")
}

// Run runs a scenario on these servers by the program lockbench, with one episode and one key,
// wants it to end as expected, with locks that have run, and nothing of a run's to be left at
// the servers. It returns the folder of the results.
func (s *Site) Run(t testing.TB, program, scenario, url string, words ...string) string {
	t.Helper()
	out := t.TempDir()
	args := append([]string{"run", scenario, "--servers", url, "--hooks", s.Hooks(), "--episodes", "1", "--keys", "1", "--seed", "42", "--out", out}, words...)
	said, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil && !Pointless(err, said) {
		t.Errorf("%s: %v, want exit code 0:\n%s", strings.Join(args, " "), err, said)
	}
	bundle, err := report.Load(filepath.Join(out, report.LatestLink))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range bundle.Result.Locks {
		if l.Error != "" || l.Unsupported != "" {
			t.Errorf("%s: %s%s", l.Lock, l.Error, l.Unsupported)
		}
	}
	if left := s.Left(t, url); len(left) > 0 {
		t.Errorf("at the servers is left: %v", left)
	}
	return out
}

// Left is what there is of lockbench's at the servers.
func (s *Site) Left(t testing.TB, url string) map[string][]string {
	t.Helper()
	return s.Under(t, url, external.Base)
}

// leftMax is how many keys are looked for.
const leftMax = 10

// Under are keys in which there is a text.
func (s *Site) Under(t testing.TB, url, text string) map[string][]string {
	t.Helper()
	under, err := s.External(t, url, external.Base).Under(t.Context(), text, leftMax)
	if err != nil {
		t.Fatal(err)
	}
	return under
}

// External returns the servers as world external sees them.
func (s *Site) External(t testing.TB, url, prefix string) service.ExternalServers {
	t.Helper()
	o, err := external.Given{Servers: []string{url}}.Read([]*service.Service{s.Service}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _ service.Role, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return o.Service.External.Login(ctx, c, service.Access{Credentials: service.Credentials{User: o.Location.User}})
	}
	found, err := o.Service.External.Survey(t.Context(), o.Location, dial)
	if err != nil {
		t.Fatal(err)
	}
	servers := o.Service.External.Open(found, prefix, asked{site: found, dial: dial})
	t.Cleanup(func() { _ = servers.Close() }) // they may have ended
	return servers
}

// asked is a host whose servers are asked, and nothing else.
type asked struct {
	service.Host // only Dial and Status are needed
	site         service.Site
	dial         service.Dialer
}

func (asked) Status(string) service.Status { return service.Status{Running: true} }
func (a asked) Dial(ctx context.Context, node string) (net.Conn, error) {
	return a.dial(ctx, service.Data, a.site.Addrs[node])
}
