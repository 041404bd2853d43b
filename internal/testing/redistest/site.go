//go:build linux

package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/hooktest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
	"lockbench/locks"
)

// Site is a group of servers that a test uses as external servers. They reach each other through a proxy, so that tests
// can cut their links.
type Site struct {
	Topology service.Topology
	Password string // the password of all servers; empty: none
	Certs    *Certs // nil without TLS
	Dir      string // the folder with its files and the script of the hooks

	t       testing.TB
	servers service.Servers
	proxy   *proxy.Proxy
	nodes   map[string]*siteNode
	orders  *hooktest.Orders
}

type siteNode struct {
	real, announced netip.AddrPort
	args            []string
	log             *process.Log

	mu      sync.Mutex
	process *process.Process
}

// outside is the name that the proxy gives to all processes that are not servers.
const outside = "client-1"

// siteLimit bounds the start of a site.
const siteLimit = time.Minute

// NewSite starts servers. Without redis-server it skips the test. The servers end with the test or with its process.
func NewSite(t testing.TB, on locks.Topology, password string, certs *Certs) *Site {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
	s := &Site{Topology: Form(on), Password: password, Certs: certs, Dir: t.TempDir(), t: t, nodes: map[string]*siteNode{}}
	s.proxy = proxy.New(proxy.Options{})
	t.Cleanup(s.close)
	s.servers = redis.Service.Open(s.Topology, s)
	must(t, s.proxy.AddClient(outside, netip.AddrFrom4([4]byte{127, 0, 0, 1})))
	ctx, cancel := context.WithTimeout(t.Context(), siteLimit)
	defer cancel()
	// The block of addresses appears in no output.
	block := [2]byte{byte(1 + rand.IntN(250)), byte(rand.IntN(250))}
	port := uint16(12000 + rand.IntN(18000))
	at := func(k int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, block[0], block[1], byte(k)}), port)
	}
	var leader *netip.AddrPort
	for k, n := range s.Topology.Nodes() {
		node := &siteNode{real: at(1 + k), announced: at(101 + k), log: &process.Log{}}
		s.nodes[n.Name] = node
		must(t, s.proxy.AddNode(proxy.Node{Name: n.Name, Real: node.real, Announced: node.announced}))
		for i := range s.Topology.PeerPorts {
			next := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr(), a.Port()+uint16(i)+1) }
			_, err := s.proxy.AddListener("", n.Name, next(node.announced), next(node.real))
			must(t, err)
		}
		dir := filepath.Join(s.Dir, n.Name)
		must(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755))
		run := redis.Service.Program(service.Place{
			Node: n, Topology: s.Topology, Bind: node.real.Addr(), Port: port, Announced: node.announced,
			Config: dir, Data: filepath.Join(dir, "data"), Leader: leader,
		})
		for path, text := range run.Files {
			must(t, os.WriteFile(path, []byte(text+s.secured(n, port)), 0o644))
		}
		node.args = append([]string{program}, run.Args...)
		if leader == nil {
			leader = &node.announced
		}
		must(t, s.start(n.Name))
		must(t, service.Poll(ctx, func() error { return s.servers.Answers(ctx, n.Name) }))
	}
	must(t, s.servers.Form(ctx))
	addrs := map[string]string{}
	for name, n := range s.nodes {
		addrs[name] = n.announced.String()
	}
	s.orders = hooktest.Listen(t, addrs, s.obey)
	return s
}

// secured returns the lines of a server's configuration that set a password and TLS.
func (s *Site) secured(n service.Node, port uint16) string {
	var b strings.Builder
	if s.Password != "" {
		fmt.Fprintf(&b, "requirepass %s\n", s.Password)
		if n.Role == service.Witness {
			fmt.Fprintf(&b, "sentinel auth-pass mymaster %s\nsentinel sentinel-pass %[1]s\n", s.Password)
		} else {
			fmt.Fprintf(&b, "masterauth %s\n", s.Password)
		}
	}
	if s.Certs != nil {
		fmt.Fprintf(&b, "port 0\ntls-port %d\ntls-replication yes\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n",
			port, s.Certs.Server.Cert, s.Certs.Server.Key, s.Certs.CA)
		if s.Topology.Name == locks.Cluster {
			b.WriteString("tls-cluster yes\n")
		}
	}
	return b.String()
}

func (s *Site) close() {
	if s.orders != nil {
		s.orders.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), siteLimit)
	defer cancel()
	for name := range s.nodes {
		if err := s.Kill(ctx, name); err != nil {
			s.t.Error(err)
		}
	}
	if err := s.proxy.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *Site) start(name string) error {
	n := s.nodes[name]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil && n.process.Running() {
		return fmt.Errorf("%s runs", name)
	}
	cmd := exec.Command(n.args[0], n.args[1:]...)
	cmd.Stdout, cmd.Stderr = n.log, n.log
	var err error
	n.process, err = process.Start(cmd)
	return err
}

// Kill ends a server.
func (s *Site) Kill(ctx context.Context, name string) error {
	n, ok := s.nodes[name]
	if !ok {
		return fmt.Errorf("no server is called %q", name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return nil
	}
	return n.process.Kill(ctx)
}

// Running reports whether a server runs.
func (s *Site) Running(name string) bool {
	n := s.nodes[name]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil && n.process.Running()
}

// Ask sends a command to a server.
func (s *Site) Ask(ctx context.Context, name string, command ...string) (string, error) {
	c, err := s.Dial(ctx, name)
	if err != nil {
		return "", err
	}
	defer c.Close()
	fmt.Fprintf(c, "%s\r\n", strings.Join(command, " "))
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}

// URL returns the servers in the form of --servers.
func (s *Site) URL() string {
	scheme := "redis"
	if s.Certs != nil {
		scheme = "rediss"
	}
	var addrs []string
	part, path := redis.Name, ""
	switch s.Topology.Name {
	case locks.Sentinel:
		scheme, part, path = scheme+"+sentinel", locks.Sentinels, "/mymaster"
	case locks.Cluster:
		scheme += "+cluster"
	}
	for _, n := range s.Topology.InPart(part) {
		addrs = append(addrs, s.Addr(n.Name).String())
	}
	if s.Topology.Name == locks.Independent {
		return scheme + "://" + strings.Join(addrs, ","+scheme+"://")
	}
	return scheme + "://" + strings.Join(addrs, ",") + path
}

// Hooks writes a file of hooks for these servers, with further hooks of the test, and returns its path. The nodes have
// the names of the site.
func (s *Site) Hooks(own ...string) string {
	s.t.Helper()
	return s.orders.File(s.Dir, own...)
}

// obey executes the command of a hook.
func (s *Site) obey(order string, nodes []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), siteLimit)
	defer cancel()
	n := s.nodes[nodes[0]]
	switch order {
	case "kill":
		return s.Kill(ctx, nodes[0])
	case "start":
		return s.start(nodes[0])
	case "wipe":
		data := filepath.Join(s.Dir, nodes[0], "data")
		return errors.Join(os.RemoveAll(data), os.Mkdir(data, 0o755))
	case "promote":
		_, err := s.servers.Abilities().Promote(ctx, nodes[0])
		return err
	case "pause":
		return n.process.Stop(ctx)
	case "resume":
		return n.process.Resume()
	case "cut", "join":
		links := []world.Link{{From: nodes[0], To: nodes[1]}}
		return s.proxy.SetLinks(links, world.LinkState{Cut: order == "cut"})
	}
	return fmt.Errorf("no order is called %q", order)
}

// Site implements [service.Host], which the service needs to form the servers.

var _ service.Host = (*Site)(nil)

// Addr returns the address of a server.
func (s *Site) Addr(node string) netip.AddrPort { return s.nodes[node].announced }

// AddrFor returns the address of a server for other servers, which is the same.
func (s *Site) AddrFor(_, node string, _ int) netip.AddrPort { return s.Addr(node) }

// Dial connects to the real address of a server and logs in.
func (s *Site) Dial(ctx context.Context, node string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", s.nodes[node].real.String())
	if err != nil {
		return nil, err
	}
	how := service.Access{Credentials: service.Credentials{Password: s.Password}}
	if s.Certs != nil {
		how.TLS = s.Certs.Trust(s.t)
	}
	in, err := redis.Service.External.Login(ctx, c, how)
	if err != nil {
		c.Close()
		return nil, err
	}
	return in, nil
}

// Status always reports a running server, because servers are formed right after their start.
func (s *Site) Status(string) service.Status { return service.Status{Running: true} }

// Follow and Lead are for topologies without a failover manager of their own, which a site does not have.
func (s *Site) Follow(string, netip.AddrPort) error { return errors.ErrUnsupported }
func (s *Site) Lead(string) error                   { return errors.ErrUnsupported }

func (s *Site) Settings() map[string]string                   { return nil }
func (s *Site) Reaches(context.Context, string, string) error { return errors.ErrUnsupported }
func (s *Site) Renew(context.Context, string) error           { return errors.ErrUnsupported }
