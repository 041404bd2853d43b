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
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
)

var _ cluster.Addresses = addresses{}

// backend is the machines of a cluster: processes on addresses of 127/8.
type backend struct {
	cluster cluster.Cluster
	program program // of its nodes
	block   *block
	port    uint16 // the first one, the same everywhere
	seed    string // the initial data of nodes; empty: none
	nodes   []*node
}

// stopLimit bounds each part of the end of a cluster.
const stopLimit = time.Minute

// newBackend claims the resources of a cluster and starts nothing yet.
func (w *World) newBackend(ctx context.Context, s world.Spec) (_ *backend, err error) {
	b := &backend{}
	c := &b.cluster
	c.Clients.Self, c.Clients.Owners = w.options.Self, &process.Owners{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	if err := c.Claim(s, nodesMax, "local"); err != nil {
		return nil, err
	}
	if b.block, err = claimBlock(); err != nil {
		return nil, err
	}
	c.Addresses = addresses{block: b.block}
	if s.Service == nil {
		return b, nil
	}
	if b.program, err = w.program(s.Service); err != nil {
		return nil, err
	}
	if err := b.program.letIn(c.Dir.Path); err != nil {
		return nil, err
	}
	if err := b.makeSeed(ctx, w); err != nil {
		return nil, err
	}
	all := c.Nodes()
	addrs := []netip.Addr{b.block.service()}
	for k := range all {
		addrs = append(addrs, b.block.real(k+1), b.block.announced(k+1))
	}
	find := freePorts
	if w.port != nil {
		find = w.port
	}
	if b.port, err = find(addrs, c.Machines.Ports()); err != nil {
		return nil, err
	}
	c.Addresses = addresses{block: b.block, port: b.port}
	if err := b.setPeers(all); err != nil {
		return nil, err
	}
	for k, n := range all {
		if err := b.addNode(n, k+1); err != nil {
			return nil, err
		}
	}
	if err := c.AddLeader(netip.AddrPortFrom(b.block.service(), b.port)); err != nil {
		return nil, err
	}
	return b, nil
}

// setPeers sets where each node finds each other one: at the announced address, or, in a topology with
// views, at an address for this viewer. A node with a SOCKS proxy uses real addresses.
func (b *backend) setPeers(all []service.Node) (err error) {
	c := &b.cluster
	c.Machines.Peers = map[string]map[string][]netip.AddrPort{}
	for v, viewer := range all {
		peers := map[string][]netip.AddrPort{}
		c.Machines.Peers[viewer.Name] = peers
		for k, n := range all {
			for i := range c.Machines.Ports() {
				own := cluster.After(netip.AddrPortFrom(b.block.real(k+1), b.port), i)
				at := cluster.After(netip.AddrPortFrom(b.block.announced(k+1), b.port), i)
				switch {
				case k == v || c.Topology().Proxied:
					at = own
				case c.Topology().Views:
					at, err = c.Net.AddListener(viewer.Name, n.Name, netip.AddrPortFrom(b.block.view(v+1), 0), own)
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

// stop ends the cluster in any state.
func (b *backend) stop() error {
	err := b.cluster.Stop(stopLimit, nil)
	if b.block != nil {
		b.block.release()
	}
	if err != nil {
		return fmt.Errorf("end the local cluster: %w", err)
	}
	return nil
}

// addresses are how clients reach the nodes: from addresses of their own.
type addresses struct {
	block *block
	port  uint16
}

// Enter assigns a new client its address and registers it with the proxy.
func (a addresses) Enter(c *cluster.Cluster, name string, index int) error {
	ip, err := a.block.client(index)
	if err != nil {
		return err
	}
	return c.Net.AddClient(name, ip)
}

// Store returns the addresses for a guest by which faults on its links take effect:
//
//	it binds its connections       the announced addresses: its own address identifies it
//	it uses only these addresses   listeners for it alone
//	servers redirect it to others  the announced addresses: the kernel finds its process
func (a addresses) Store(c *cluster.Cluster, name string, hello guest.Hello) (guest.StoreAddresses, error) {
	ip, ok := c.Net.IP(name)
	if !ok {
		return guest.StoreAddresses{}, fmt.Errorf("the proxy knows no %q", name)
	}
	// announced returns the announced address of a node, or the address that follows the leader.
	announced := func(target string) (netip.AddrPort, error) {
		if target == cluster.LeaderName {
			return netip.AddrPortFrom(a.block.service(), a.port), nil
		}
		return c.Machines.Addr(target), nil
	}
	switch {
	case hello.SourceAddress || c.Spec.Service == nil:
		s, err := cluster.StoreAt(c, announced)
		s.LocalAddr = ip.String()
		return s, err
	case !c.Topology().Discovers:
		return cluster.StoreAt(c, func(target string) (netip.AddrPort, error) { return c.Net.ListenerFor(name, target) })
	}
	if err := c.Clients.Owners.Ready(); err != nil {
		return guest.StoreAddresses{}, world.Unsupportedf("servers lead all clients to the same addresses, this guest does not bind its "+
			"connections to the open request's local_addr, and their process cannot be found (%w), so faults on its links could not find it; "+
			`if it can bind them, let its hello say "source_address":true`, err)
	}
	return cluster.StoreAt(c, announced)
}

// Dial connects to a node from the address of a client or another node.
func (a addresses) Dial(ctx context.Context, c *cluster.Cluster, from, to string) (net.Conn, error) {
	ip, ok := c.Net.IP(from)
	if !ok {
		return nil, fmt.Errorf("there is no %q in this cluster", from)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: ip.AsSlice()}}
	return d.DialContext(ctx, "tcp4", c.Machines.Addr(to).String())
}
