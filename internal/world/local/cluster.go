//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/child"
	"lockbench/internal/world/mesh"
	"lockbench/internal/world/redisnode"
	"lockbench/locks"
)

// The abilities of a local cluster.
var (
	_ world.Cluster        = (*cluster)(nil)
	_ world.NodeKiller     = (*cluster)(nil)
	_ world.NodePauser     = (*cluster)(nil)
	_ world.LinkCutter     = (*cluster)(nil)
	_ world.LinkShaper     = (*cluster)(nil)
	_ world.LinkThrottler  = (*cluster)(nil)
	_ world.ReplyDropper   = (*cluster)(nil)
	_ world.Promoter       = (*cluster)(nil)
	_ world.Prober         = (*cluster)(nil)
	_ world.RequestCounter = (*cluster)(nil)
	_ world.RequestHolder  = (*cluster)(nil)
	_ world.ConnResetter   = (*cluster)(nil)
	_ world.Operator       = (*cluster)(nil)
	_ world.ClockShifter   = (*cluster)(nil)
)

// cluster is one running lock service and its clients.
type cluster struct {
	redisnode.Group // what the servers say of themselves, and operators tell them
	child.Clients   // who is open
	mesh.Abilities  // what the mesh can do to links by itself

	spec    world.Spec
	server  string // path of redis-server
	block   *block
	port    uint16     // the same everywhere
	dir     *child.Dir // temporary: all that servers write, and what file locks share
	network *child.Log // what the mesh has to say
	preload string     // path of the library that shifts clocks; empty: none is shifted
	nodes   []*node    // in the order of Nodes
}

// serviceName is the name of the address that follows the master of the topology
// replicated; clients know their only node by it.
const serviceName = "master"

// stopLimit bounds the end of a cluster, which kills and has nobody to ask.
const stopLimit = 20 * time.Second

// newCluster claims what a cluster needs and starts nothing yet.
func (w *World) newCluster(s world.Spec) (_ *cluster, err error) {
	c := &cluster{spec: s}
	c.Form = s.Topology
	c.Clients.LogDir, c.Clients.Self, c.Clients.Net = s.LogDir, w.options.Self, c
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	switch s.Topology {
	case locks.None, locks.Single, locks.Replicated, locks.Sentinel, locks.Cluster, locks.Independent:
	default:
		return nil, fmt.Errorf("the local world has no topology %q; it has none, single, replicated, sentinel, cluster and independent", s.Topology)
	}
	usual := world.UsualNodes(s)
	if len(usual) > nodesMax {
		return nil, fmt.Errorf("%d servers are too many: the addresses of a cluster suffice for %d", len(usual), nodesMax)
	}
	if len(usual) > 0 {
		if c.server, err = w.server(); err != nil {
			return nil, err
		}
	}
	if c.dir, err = child.ClaimDir("lockbench-local-"); err != nil {
		return nil, err
	}
	if s.LogDir != "" {
		if err := os.MkdirAll(s.LogDir, 0o755); err != nil {
			return nil, fmt.Errorf("make the log directory: %w", err)
		}
	}
	if c.block, err = claimBlock(); err != nil {
		return nil, err
	}
	addrs := []netip.Addr{c.block.service()}
	for k := range usual {
		addrs = append(addrs, c.block.real(k+1), c.block.announced(k+1))
	}
	find := freePort
	if w.port != nil {
		find = w.port
	}
	if c.port, err = find(addrs); err != nil {
		return nil, err
	}
	if c.network, err = child.OpenLog(s.LogDir, "network"); err != nil {
		return nil, err
	}
	c.Mesh = mesh.New(mesh.Options{Log: c.network.Line})
	if err := c.buildClocks(); err != nil {
		return nil, err
	}
	for k, n := range usual {
		node, err := c.newNode(n, k+1)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, node)
		c.Servers = append(c.Servers, node)
		if err := c.Mesh.AddNode(mesh.Node{Name: n.Name, Real: node.real, Announced: node.announced}); err != nil {
			return nil, err
		}
		if s.Topology == locks.Cluster {
			if err := c.Mesh.AddPort(n.Name, bus(node.real), bus(node.announced)); err != nil {
				return nil, err
			}
		}
	}
	if s.Topology == locks.Replicated {
		c.Lead = func(master string) error { return c.Mesh.Move(serviceName, master) }
		if err := c.Mesh.AddService(serviceName, netip.AddrPortFrom(c.block.service(), c.port), c.Service()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// start starts all servers and returns when the cluster is healthy.
func (c *cluster) start(ctx context.Context) error {
	// The first master goes first: a replica that finds none tries again after a
	// second, and would make the start that much longer.
	rest := c.nodes
	if len(rest) > 0 {
		if err := rest[0].start(ctx); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if err := redisnode.Each(rest, func(n *node) error {
		return errors.Join(n.start(ctx), redisnode.Pace(ctx, n, redisnode.Hurried))
	}); err != nil {
		return err
	}
	if c.Form == locks.Cluster {
		if err := c.Assemble(ctx); err != nil {
			return err
		}
	}
	if err := c.AwaitHealthy(ctx); err != nil {
		return err
	}
	return redisnode.Each(c.nodes, func(n *node) error { return redisnode.Pace(ctx, n, redisnode.Steady) })
}

// bus is where a node of a cluster is found by the others.
func bus(at netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(at.Addr(), redisnode.BusPort(at.Port()))
}

// stop ends everything that is left of the cluster, in whatever state it is.
func (c *cluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	errs := []error{
		c.Clients.End(ctx),
		redisnode.Each(c.nodes, func(n *node) error { return n.end(ctx) }),
	}
	if c.Mesh != nil {
		errs = append(errs, c.Mesh.Close())
		c.network.Close()
	}
	if c.dir != nil {
		errs = append(errs, c.dir.Remove())
	}
	if c.block != nil {
		c.block.release()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the local cluster: %w", err)
	}
	return nil
}

// Enter gives a new client its address, and its name in the mesh.
func (c *cluster) Enter(name string, index int) error {
	ip, err := c.block.client(index)
	if err != nil {
		return err
	}
	return c.Mesh.AddClient(name, ip)
}

// Leave closes what was listened on for a client.
func (c *cluster) Leave(name string) { c.Mesh.CloseEntries(name) }

// Store gives a guest that binds its connections the announced addresses, and any
// other guest addresses of its own, so that faults on its links find it.
func (c *cluster) Store(name string, hello guest.Hello) (guest.StoreAddresses, error) {
	ip, ok := c.Mesh.IP(name)
	if !ok {
		return guest.StoreAddresses{}, fmt.Errorf("the mesh knows no %q", name)
	}
	if hello.SourceAddress || c.spec.Topology == locks.None {
		s, err := c.store(func(_ string, announced netip.AddrPort) (netip.AddrPort, error) { return announced, nil })
		s.LocalAddr = ip.String()
		return s, err
	}
	if c.spec.Topology == locks.Sentinel || c.spec.Topology == locks.Cluster {
		return guest.StoreAddresses{}, fmt.Errorf("%w: servers lead all clients to the same addresses, and this guest does not bind its "+
			"connections to the open request's local_addr, so faults on its links could not find it; "+
			`if it can, let its hello say "source_address":true`, world.ErrUnsupportedHere)
	}
	return c.store(func(target string, _ netip.AddrPort) (netip.AddrPort, error) {
		return c.Mesh.AddEntry(name, target, netip.AddrPortFrom(ip, 0))
	})
}

// store is what a client may know of the cluster. Where gives the address under
// which the client reaches a node or the service.
func (c *cluster) store(where func(target string, announced netip.AddrPort) (netip.AddrPort, error)) (guest.StoreAddresses, error) {
	s := guest.StoreAddresses{Topology: c.spec.Topology, Dir: c.dir.Shared}
	list := func(nodes []*node) ([]locks.Node, error) {
		var out []locks.Node
		for _, n := range nodes {
			at, err := where(n.Name, n.announced)
			if err != nil {
				return nil, err
			}
			out = append(out, locks.Node{Name: n.Name, Addr: at.String()})
		}
		return out, nil
	}
	var err error
	switch c.spec.Topology {
	case locks.Single, locks.Cluster, locks.Independent:
		s.Nodes, err = list(c.nodes)
	case locks.Replicated:
		var at netip.AddrPort
		at, err = where(serviceName, netip.AddrPortFrom(c.block.service(), c.port))
		s.Nodes = []locks.Node{{Name: serviceName, Addr: at.String()}}
	case locks.Sentinel:
		s.MasterName = redisnode.MasterName
		s.Sentinels, err = list(redisnode.OfKind(c.nodes, world.Watchman))
	}
	return s, err
}
