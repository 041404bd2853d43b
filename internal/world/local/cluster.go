//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/service"
)

var _ world.Cluster = (*Cluster)(nil)

// Cluster is one running lock service and its clients.
type Cluster struct {
	cluster.Cluster

	program program // of its nodes
	block   *block
	port    uint16 // the first one, the same everywhere
	seed    string // the initial data of nodes; empty: none
	nodes   []*node
}

// stopLimit bounds the end of a cluster.
const stopLimit = time.Minute

// newCluster claims the resources of a cluster and starts nothing yet.
func (w *World) newCluster(ctx context.Context, s world.Spec) (_ *Cluster, err error) {
	c := &Cluster{}
	c.Clients.Self, c.Clients.Net, c.Clients.Owners = w.options.Self, c, &process.Owners{}
	c.Probe = c.Ping
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if err := c.Claim(s, nodesMax, "lockbench-local-"); err != nil {
		return nil, err
	}
	if c.block, err = claimBlock(); err != nil {
		return nil, err
	}
	if s.Service == nil {
		return c, nil
	}
	if c.program, err = w.program(s.Service); err != nil {
		return nil, err
	}
	if err := c.program.letIn(c.Dir.Path); err != nil {
		return nil, err
	}
	if err := c.makeSeed(ctx, w); err != nil {
		return nil, err
	}
	all := c.Nodes()
	addrs := []netip.Addr{c.block.service()}
	for k := range all {
		addrs = append(addrs, c.block.real(k+1), c.block.announced(k+1))
	}
	find := freePorts
	if w.port != nil {
		find = w.port
	}
	if c.port, err = find(addrs, c.Ports()); err != nil {
		return nil, err
	}
	if err := c.setPeers(all); err != nil {
		return nil, err
	}
	for k, n := range all {
		if err := c.addNode(n, k+1); err != nil {
			return nil, err
		}
	}
	if c.HasLeaderAddress() {
		if err := c.Proxy.AddService(cluster.LeaderName, c.serviceAddr(), c.First()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// setPeers sets where each node finds each other one: at the announced address, or, in a topology with
// views, at an address for this viewer. A node with a SOCKS proxy uses real addresses.
func (c *Cluster) setPeers(all []service.Node) (err error) {
	c.Peers = map[string]map[string][]netip.AddrPort{}
	for v, viewer := range all {
		peers := map[string][]netip.AddrPort{}
		c.Peers[viewer.Name] = peers
		for k, n := range all {
			for i := range c.Ports() {
				own := cluster.After(netip.AddrPortFrom(c.block.real(k+1), c.port), i)
				at := cluster.After(netip.AddrPortFrom(c.block.announced(k+1), c.port), i)
				switch {
				case k == v || c.Topology().Proxied:
					at = own
				case c.Topology().Views:
					at, err = c.Proxy.AddListenerTo(viewer.Name, n.Name, netip.AddrPortFrom(c.block.view(v+1), 0), own)
					if err != nil {
						return err
					}
				}
				peers[n.Name] = append(peers[n.Name], at)
			}
		}
	}
	return nil
}

// serviceAddr returns the address that follows the leader.
func (c *Cluster) serviceAddr() netip.AddrPort { return netip.AddrPortFrom(c.block.service(), c.port) }

// start starts all servers and returns when the cluster is healthy.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.Launch(ctx); err != nil {
		return err
	}
	return c.Form(ctx)
}

// stop ends the cluster in any state. Slow clients do not use up the time of the servers: a server that was
// killed and not waited for would make the verdict a failure of the harness.
func (c *Cluster) stop() error {
	clients, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	err := c.Stop(clients, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		return service.Each(c.nodes, func(n *node) error { return n.end(ctx) })
	})
	if c.block != nil {
		c.block.release()
	}
	if err != nil {
		return fmt.Errorf("end the local cluster: %w", err)
	}
	return nil
}

// Enter assigns a new client its address and registers it with the proxy.
func (c *Cluster) Enter(name string, index int) error {
	ip, err := c.block.client(index)
	if err != nil {
		return err
	}
	return c.Proxy.AddClient(name, ip)
}

// Store returns the addresses for a guest by which faults on its links take effect:
//
//	it binds its connections       the announced addresses: its own address identifies it
//	it uses only these addresses   listeners for it alone
//	servers redirect it to others  the announced addresses: the kernel finds its process
func (c *Cluster) Store(name string, hello guest.Hello) (guest.StoreAddresses, error) {
	ip, ok := c.Proxy.IP(name)
	if !ok {
		return guest.StoreAddresses{}, fmt.Errorf("the proxy knows no %q", name)
	}
	switch {
	case hello.SourceAddress || c.Spec.Service == nil:
		s, err := c.Cluster.Store(c.announcedAt)
		s.LocalAddr = ip.String()
		return s, err
	case !c.Topology().Discovers:
		return c.Cluster.Store(func(target string) (netip.AddrPort, error) {
			return c.Proxy.AddListener(name, target, netip.AddrPortFrom(ip, 0))
		})
	}
	if err := c.Owners.Ready(); err != nil {
		return guest.StoreAddresses{}, fmt.Errorf("%w: servers lead all clients to the same addresses, this guest does not bind its "+
			"connections to the open request's local_addr, and their process cannot be found (%w), so faults on its links could not find it; "+
			`if it can bind them, let its hello say "source_address":true`, world.ErrUnsupportedHere, err)
	}
	return c.Cluster.Store(c.announcedAt)
}

// announcedAt returns the announced address of a node, or the address that follows the leader.
func (c *Cluster) announcedAt(target string) (netip.AddrPort, error) {
	if target == cluster.LeaderName {
		return c.serviceAddr(), nil
	}
	return c.Addr(target), nil
}

// Ping pings a node on the path of from's connections.
func (c *Cluster) Ping(ctx context.Context, from, to string, load int) error {
	ip, ok := c.Proxy.IP(from)
	if !ok {
		return fmt.Errorf("ping %s: there is no %q in this cluster", to, from)
	}
	return c.Greet(ctx, from, to, load, func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: ip.AsSlice()}}
		return d.DialContext(ctx, "tcp4", c.Addr(to).String())
	})
}
