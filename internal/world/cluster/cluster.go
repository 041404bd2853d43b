//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
	"lockbench/internal/world/shim"
)

// startLimit bounds the start of a killed node.
const startLimit = 3 * time.Minute

// LeaderName is the name of the address that follows the leader, in topologies that have one.
const LeaderName = "master"

// Cluster is one running lock service and its clients. A world adds the machines of the nodes, and sets
// the fields that differ between worlds.
type Cluster struct {
	service.Group   // the servers
	process.Clients // the open clients
	*proxy.Proxy    // the network, with its faults

	// Addresses is how clients reach the nodes. Nil before Claim: each client has a listener of the proxy for
	// each node.
	Addresses

	Spec    world.Spec
	Dir     *process.Dir // temporary files, some shared by all clients
	Network *process.Log // the proxy's log

	// Preload is the library that shifts the clocks of servers; empty: they are not shifted.
	Preload string

	// Called maps the addresses by which servers redirect clients to the names of nodes.
	Called map[string]string

	// Links are the links between nodes. Nil: they lead through the proxy.
	Links Links

	// Peers lists the ports of each node as each viewer finds them, by viewer and node. A world
	// sets it before it creates the nodes.
	Peers map[string]map[string][]netip.AddrPort

	// DialNode connects the proxy to a node. Nil: it dials the node's address.
	DialNode func(ctx context.Context, node string) (net.Conn, error)

	// Strays lists keys that appeared on servers of others during the run and are not of it. Nil: it is not known.
	Strays func(ctx context.Context) []string

	servers service.Servers // nil without servers
	nodes   []*node         // in the order of Nodes

	operator sync.WaitGroup // the failover manager
	leave    context.CancelFunc
}

var (
	_ world.Cluster = (*Cluster)(nil)
	_ service.Host  = (*Cluster)(nil)
	_ process.Net   = (*Cluster)(nil)
)

// StrayKeys lists the keys that appeared on servers of others during the run and are not of it, if that is known.
func (c *Cluster) StrayKeys(ctx context.Context) []string {
	if c.Strays == nil {
		return nil
	}
	return c.Strays(ctx)
}

// Claim creates everything that a cluster needs before its nodes: at most nodesMax nodes, and a
// directory for this world.
func (c *Cluster) Claim(s world.Spec, nodesMax int, name string) (err error) {
	c.Spec, c.Group = s, service.NoServers{}
	c.Clients.Net, c.Clients.LogDir = c, s.LogDir
	if c.Addresses == nil {
		c.Addresses = listeners{c}
	}
	var wire service.Wire
	if s.Service != nil {
		if n := len(s.Topology.Nodes()); n > nodesMax {
			return fmt.Errorf("%d servers are too many: the addresses of a cluster suffice for %d", n, nodesMax)
		}
		c.servers = s.Service.Open(s.Topology, c)
		c.Group, wire = c.servers, s.Service.Wire
	}
	if c.Dir, err = process.NewDir(name); err != nil {
		return err
	}
	if err := c.MakeClocks(context.Background(), s, c.Dir.Path); err != nil {
		return err
	}
	if s.Service != nil && s.Clocks && shim.Ready() == nil { // else the sketch has the error
		if c.Preload, err = shim.Build(context.Background(), c.Dir.Path); err != nil {
			return err
		}
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
		options.Owner = c.Clients.Owners.Party
	}
	c.Proxy = proxy.New(options)
	return nil
}

// PlaceFor returns the place of the next node, which follows the first one.
func (c *Cluster) PlaceFor(n service.Node) service.Place {
	p := service.Place{Node: n, Topology: c.Spec.Topology, Settings: c.Spec.Settings, Peers: c.Peers[n.Name]}
	if len(c.nodes) > 0 {
		first := c.AddrFor(n.Name, c.nodes[0].Name, 0)
		p.Leader = &first
	}
	return p
}

// After returns an address with a port i higher.
func After(at netip.AddrPort, i int) netip.AddrPort {
	return netip.AddrPortFrom(at.Addr(), at.Port()+uint16(i))
}

// Ports returns how many consecutive ports each node has.
func (c *Cluster) Ports() int { return 1 + c.Spec.Topology.PeerPorts }

// Launch writes the files of all nodes and starts them.
func (c *Cluster) Launch(ctx context.Context) error {
	err := service.Each(c.nodes, func(n *node) error {
		if n.place == nil {
			return nil
		}
		return n.move(ctx, func(*service.Place) {})
	})
	if err != nil {
		return err
	}
	rest := c.nodes
	if len(rest) > 0 && c.Spec.Topology.FirstAlone {
		if err := c.start(ctx, rest[0], true); err != nil {
			return err
		}
		rest = rest[1:]
	}
	return service.Each(rest, func(n *node) error { return c.start(ctx, n, true) })
}

// Form waits until the launched nodes are one healthy cluster.
func (c *Cluster) Form(ctx context.Context) error {
	if c.servers == nil {
		return nil
	}
	if err := c.servers.Form(ctx); err != nil {
		return err
	}
	if err := service.AwaitHealthy(ctx, c.servers); err != nil {
		return err
	}
	operating, leave := context.WithCancel(context.Background())
	c.leave = leave
	c.operator.Go(func() { c.servers.Operate(operating) })
	return nil
}

// start starts a node and waits until it answers.
func (c *Cluster) start(ctx context.Context, n *node, keepData bool) error {
	name := n.Name
	if n.status().Running {
		return fmt.Errorf("start %s: it is running", name)
	}
	if err := c.rejoin(ctx, n, keepData); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := n.launch(ctx, keepData); err != nil {
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

// rejoin prepares a service's other nodes for a node that comes back without its data.
func (c *Cluster) rejoin(ctx context.Context, n *node, keepData bool) error {
	if keepData {
		return nil
	}
	joins, err := c.servers.Rejoin(ctx, n.Name)
	if err != nil || !joins {
		return err
	}
	return n.move(ctx, func(p *service.Place) { p.Rejoins = true })
}

// Stop ends the clients, then the machines, calls rest, which may be nil, and closes the network. Each of the three
// has the whole limit: if lockbench killed a server and did not wait for its end, the verdict would be a failure of
// the harness.
func (c *Cluster) Stop(limit time.Duration, rest func(context.Context) error) error {
	if c.leave != nil {
		c.leave()
		c.operator.Wait()
	}
	machines := func(ctx context.Context) error {
		return service.Each(c.nodes, func(n *node) error { return n.End(ctx) })
	}
	var errs []error
	for _, end := range []func(context.Context) error{c.Clients.End, machines, rest} {
		if end != nil {
			ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not done after %v", limit))
			errs = append(errs, end(ctx))
			cancel()
		}
	}
	if c.servers != nil {
		errs = append(errs, c.servers.Close())
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

// node finds a node by its name.
func (c *Cluster) node(name string) (*node, error) {
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q in this cluster", name)
	}
	return c.nodes[i], nil
}

// change calls f with a node that no other fault starts, pauses or ends meanwhile.
func (c *Cluster) change(name string, f func(*node) error) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.life.Lock()
	defer n.life.Unlock()
	return f(n)
}

// Start starts a killed node.
func (c *Cluster) Start(ctx context.Context, name string, keepData bool) error {
	return c.change(name, func(n *node) error {
		n.held = false
		ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
		defer cancel()
		return c.start(ctx, n, keepData)
	})
}

// Kill kills a node.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.change(name, func(n *node) error {
		n.held = true
		return n.Kill(ctx)
	})
}

// Renew restarts a running node with its initial data.
func (c *Cluster) Renew(ctx context.Context, name string) error {
	return c.change(name, func(n *node) error {
		if s := n.status(); n.held || s.Paused {
			return fmt.Errorf("renew %s: it is not to run now: %w", name, s.Why)
		}
		if err := n.Kill(ctx); err != nil {
			return fmt.Errorf("renew %s: %w", name, err)
		}
		return c.start(ctx, n, false)
	})
}

// PauseNode stops a node's process, whose sockets stay open.
func (c *Cluster) PauseNode(ctx context.Context, name string) error {
	return c.change(name, func(n *node) error {
		n.paused.Store(true)
		return n.Pause(ctx)
	})
}

// ResumeNode continues a node's process.
func (c *Cluster) ResumeNode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.paused.Store(false)
	if err := n.Resume(ctx); err != nil {
		return err
	}
	return c.servers.Resumed(ctx, name)
}

// Identity returns the identity of the node at an address.
func (c *Cluster) Identity(ctx context.Context, at netip.AddrPort) (string, error) {
	identity := c.servers.Abilities().Identity
	if identity == nil {
		return "", fmt.Errorf("%s does not tell one node from another", c.Spec.Service.Name)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return identity(ctx, conn)
}

// AddLeader adds the address that follows the leader to the proxy, if the topology has one.
func (c *Cluster) AddLeader(at netip.AddrPort) error {
	if c.Spec.Topology.Entry != "" {
		return nil
	}
	return c.Proxy.AddService(LeaderName, at, c.servers.Lead())
}
