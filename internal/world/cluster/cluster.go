//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
	"lockbench/locks"
	"lockbench/service"
)

// LeaderName is the name of the address that follows the leader, in topologies that have
// one; clients know their only node by it.
const LeaderName = "master"

// Node is one server and where it runs.
type Node interface {
	Is() service.Node
	// Announced is where others find its first port.
	Announced() netip.AddrPort
	// Dial connects to that port, past all faults.
	Dial(ctx context.Context) (net.Conn, error)
	Status() service.Status
	// Launch starts its program, with or without the data that it had.
	Launch(ctx context.Context, keepData bool) error
	// Gone says why the program that was launched is there no more; nil while it is, or
	// seems to be. Look counts the looks since the launch.
	Gone(ctx context.Context, look int) error
	// LastWords are what it wrote last.
	LastWords(ctx context.Context) string
	// Rejoin configures the node to join an existing cluster when it is next launched, see
	// [service.Place].
	Rejoin(ctx context.Context) error
	// Follow configures the node to follow leader when it is next launched, or to follow no
	// node if leader is nil, and writes its configuration files.
	Follow(ctx context.Context, leader *netip.AddrPort) error
	Kill(ctx context.Context) error
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
}

// Cluster is one running lock service and its clients.
type Cluster struct {
	service.Group   // the servers, as everybody sees them
	process.Clients // who is open
	proxy.Abilities // what the proxy can do to links by itself

	Spec    world.Spec
	Dir     *process.Dir // temporary: what file locks share, and more as the world likes
	Network *process.Log // what the proxy has to say

	// Peers is where each node finds the ports of each, by viewer and node. A world says so
	// before it makes the nodes.
	Peers map[string]map[string][]netip.AddrPort

	// Probe asks for a sign of life from one end to a node, on the path that faults concern.
	Probe func(ctx context.Context, from, to string) error

	// DialNode connects to a node for the proxy. Nil: an ordinary connection to its address.
	DialNode func(ctx context.Context, node string) (net.Conn, error)

	servers service.Servers // nil without servers
	nodes   []Node          // in the order of Nodes

	listeners listeners
	lives     sync.Map       // by node: *life
	operator  sync.WaitGroup // who watches the servers
	leave     context.CancelFunc
}

// life is held while a node is started or ended.
type life struct {
	sync.Mutex
	down bool // a fault keeps it from running
}

func (c *Cluster) life(node string) *life {
	l, _ := c.lives.LoadOrStore(node, &life{})
	return l.(*life)
}

var (
	_ world.NodeKiller = (*Cluster)(nil)
	_ world.NodePauser = (*Cluster)(nil)
	_ service.Operable = (*Cluster)(nil)

	_ world.ClientClockShifter = (*Cluster)(nil)
)

// Claim makes what every cluster needs before it has nodes: at most so many, with a
// directory whose name begins so.
func (c *Cluster) Claim(s world.Spec, nodesMax int, dir string) (err error) {
	c.Spec, c.Group = s, service.Nobody{}
	c.Clients.LogDir = s.LogDir
	var wire service.Wire
	if s.Service != nil {
		if n := len(s.Topology.Nodes()); n > nodesMax {
			return fmt.Errorf("%d servers are too many: the addresses of a cluster suffice for %d", n, nodesMax)
		}
		c.servers = s.Service.Open(s.Topology, c)
		c.Group, wire = c.servers, s.Service.Wire()
	}
	if c.Dir, err = process.ClaimDir(dir); err != nil {
		return err
	}
	if err := c.MakeClocks(context.Background(), s, c.Dir.Path); err != nil {
		return err
	}
	if s.LogDir != "" {
		if err := os.MkdirAll(s.LogDir, 0o755); err != nil {
			return fmt.Errorf("make the log directory: %w", err)
		}
	}
	if c.Network, err = process.OpenLog(s.LogDir, "network"); err != nil {
		return err
	}
	options := proxy.Options{Log: c.Network.Line, Wire: wire, Dial: c.DialNode}
	if c.Clients.Owners != nil {
		options.Owner = c.Clients.Owners.Of
	}
	c.Proxy = proxy.New(options)
	return nil
}

// Add makes a node known, and writes what it is started with.
func (c *Cluster) Add(n Node) { c.nodes = append(c.nodes, n) }

// PlaceFor is the place of the next node, where it finds the first one.
func (c *Cluster) PlaceFor(n service.Node) service.Place {
	p := service.Place{Node: n, Topology: c.Spec.Topology, Settings: c.Spec.Settings, Peers: c.Peers[n.Name]}
	if len(c.nodes) > 0 {
		first := c.AddrFor(n.Name, c.nodes[0].Is().Name, 0)
		p.Leader = &first
	}
	return p
}

// After is the i-th port after one.
func After(at netip.AddrPort, i int) netip.AddrPort {
	return netip.AddrPortFrom(at.Addr(), at.Port()+uint16(i))
}

// Ports is how many ports in a row each node has.
func (c *Cluster) Ports() int { return c.Spec.Service.Ports(c.Spec.Topology) }

// Launch starts all nodes; Form makes one cluster of them.
func (c *Cluster) Launch(ctx context.Context) error {
	rest := c.nodes
	if len(rest) > 0 && c.Spec.Topology.FirstAlone {
		if err := c.start(ctx, rest[0], true); err != nil {
			return err
		}
		rest = rest[1:]
	}
	return service.Each(rest, func(n Node) error { return c.start(ctx, n, true) })
}

// Form returns when the nodes that were launched are one healthy cluster.
func (c *Cluster) Form(ctx context.Context) error {
	if c.servers == nil {
		return nil
	}
	if err := c.servers.Form(ctx); err != nil {
		return err
	}
	if watched, ok := c.servers.(service.Operated); ok {
		ctx, leave := context.WithCancel(context.Background())
		c.leave = leave
		c.operator.Go(func() { watched.Operate(ctx) })
	}
	return nil
}

// start starts a node and returns when it answers.
func (c *Cluster) start(ctx context.Context, n Node, keepData bool) error {
	name := n.Is().Name
	if n.Status().Running {
		return fmt.Errorf("start %s: it is running", name)
	}
	if err := c.rejoin(ctx, n, keepData); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := n.Launch(ctx, keepData); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for look := 1; ; look++ {
		err := c.servers.Answers(ctx, name)
		if err == nil {
			return c.servers.Started(ctx, name)
		}
		if gone := n.Gone(ctx, look); gone != nil {
			return fmt.Errorf("start %s: it ended at once: %w", name, gone)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("start %s: it does not answer (%w): %w; %s", name, err, context.Cause(ctx), n.LastWords(ctx))
		}
	}
}

// rejoin lets the others know of a node that comes back without its data, where they must.
func (c *Cluster) rejoin(ctx context.Context, n Node, keepData bool) error {
	others, ok := c.servers.(service.Rejoiner)
	if keepData || !ok {
		return nil
	}
	joins, err := others.Rejoin(ctx, n.Is().Name)
	if err != nil || !joins {
		return err
	}
	return n.Rejoin(ctx)
}

// Stop ends what every cluster has but its nodes, which end after the clients and before
// the rest.
func (c *Cluster) Stop(ctx context.Context, nodes func() error) error {
	if c.leave != nil {
		c.leave()
		c.operator.Wait()
	}
	errs := []error{c.Clients.End(ctx), nodes()}
	if kept, ok := c.servers.(io.Closer); ok {
		errs = append(errs, kept.Close())
	}
	if c.Proxy != nil {
		errs = append(errs, c.Proxy.Close())
	}
	if c.Network != nil {
		c.Network.Close()
	}
	if c.Dir != nil {
		errs = append(errs, c.Dir.Remove())
	}
	return errors.Join(errs...)
}

// Servers is the group of the servers, with all that their service can do.
func (c *Cluster) Servers() service.Group { return c.Group }

// node finds a node by its name.
func (c *Cluster) node(name string) (Node, error) {
	i := slices.IndexFunc(c.nodes, func(n Node) bool { return n.Is().Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q in this cluster", name)
	}
	return c.nodes[i], nil
}

// Start brings a killed node back.
func (c *Cluster) Start(ctx context.Context, name string, keepData bool) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	l := c.life(name)
	l.Lock()
	defer l.Unlock()
	l.down = false
	return c.start(ctx, n, keepData)
}

// Kill ends a node at once.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	l := c.life(name)
	l.Lock()
	defer l.Unlock()
	l.down = true
	return n.Kill(ctx)
}

// Renew gives a node that runs the data with which nodes begin.
func (c *Cluster) Renew(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	l := c.life(name)
	l.Lock()
	defer l.Unlock()
	if s := n.Status(); l.down || s.Paused {
		return fmt.Errorf("renew %s: it is not to run now: %w", name, s.Why)
	}
	if err := n.Kill(ctx); err != nil {
		return fmt.Errorf("renew %s: %w", name, err)
	}
	return c.start(ctx, n, false)
}

// PauseNode stops a node's process.
func (c *Cluster) PauseNode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	l := c.life(name)
	l.Lock()
	defer l.Unlock()
	return n.Pause(ctx)
}

// ResumeNode lets it go on.
func (c *Cluster) ResumeNode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if err := n.Resume(ctx); err != nil {
		return err
	}
	return c.servers.Resumed(ctx, name)
}

// Greet sends a node a greeting over a connection from the client or node called from.
func (c *Cluster) Greet(ctx context.Context, from, to string, load int, dial func(context.Context) (net.Conn, error)) error {
	c.Greeted(from)
	conn, err := dial(ctx)
	if err == nil {
		defer conn.Close()
		err = c.servers.Greet(ctx, conn, load)
	}
	if err != nil {
		return fmt.Errorf("ping %s from %s: %w", to, from, err)
	}
	return nil
}

// Identity asks a node who it is, at an address of it.
func (c *Cluster) Identity(ctx context.Context, at netip.AddrPort) (string, error) {
	who, ok := c.servers.(service.Identifier)
	if !ok {
		return "", fmt.Errorf("%s does not tell one node from another", c.Spec.Service.Name())
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return who.Identity(ctx, conn)
}

// HasLeaderAddress says whether there is such an address.
func (c *Cluster) HasLeaderAddress() bool { return c.servers != nil && c.Spec.Topology.Entry == "" }

// First is the node to which it leads.
func (c *Cluster) First() string { return c.servers.Lead() }

// Store is what a client may know of the cluster. Where gives the address under which
// the client reaches a node, or [LeaderName].
func (c *Cluster) Store(where func(target string) (netip.AddrPort, error)) (guest.StoreAddresses, error) {
	t := c.Spec.Topology
	s := locks.Store{Topology: t.Name, Dir: c.Dir.Shared}
	if c.servers == nil {
		return guest.Addresses(s), nil
	}
	s.Service, s.Params = c.Spec.Service.Name(), c.servers.Params()
	entry, targets := s.Service, []string{LeaderName}
	if t.Entry != "" {
		entry, targets = t.Entry, nil
		for _, n := range t.Of(t.Entry) {
			targets = append(targets, n.Name)
		}
	}
	var nodes []locks.Node
	for _, target := range targets {
		at, err := where(target)
		if err != nil {
			return guest.StoreAddresses{}, err
		}
		nodes = append(nodes, locks.Node{Name: target, Addr: at.String()})
	}
	s.Endpoints = map[string][]locks.Node{entry: nodes}
	return guest.Addresses(s), nil
}
