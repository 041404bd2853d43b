//go:build linux

package cluster

import (
	"context"
	"net"
	"net/netip"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks"
)

// Addresses is how clients reach the nodes of a cluster.
type Addresses interface {
	// Enter registers a client with the proxy; index counts the clients of the cluster from 0.
	Enter(c *Cluster, client string, index int) error
	// Store returns the addresses for a guest by which faults on its links concern it alone.
	Store(c *Cluster, client string, hello guest.Hello) (guest.StoreAddresses, error)
	// Dial connects to a node on the path of the connections of a client or another node.
	Dial(ctx context.Context, c *Cluster, from, to string) (net.Conn, error)
}

// Links are links between nodes that do not lead through the proxy.
type Links interface {
	// SetLinks sets what happens on links from now on.
	SetLinks(ctx context.Context, links []world.Link, s world.LinkState) error
	// Ping pings a node of the cluster from another one.
	Ping(ctx context.Context, from, to string) error
}

var _ process.Net = clientNet{}

// clientNet is the network of a cluster for its clients.
type clientNet struct{ cluster *Cluster }

func (n clientNet) Enter(client string, index int) error {
	return n.cluster.Addresses.Enter(n.cluster, client, index)
}

func (n clientNet) Store(client string, hello guest.Hello) (guest.StoreAddresses, error) {
	return n.cluster.Addresses.Store(n.cluster, client, hello)
}

func (n clientNet) Leave(client string)               { n.cluster.Net.Leave(client) }
func (n clientNet) Freeze(client string, frozen bool) { n.cluster.Net.Freeze(client, frozen) }

// StoreAt returns the addresses and parameters that a client of a cluster needs. where returns the address under
// which the client reaches a node, or [LeaderName].
func StoreAt(c *Cluster, where func(target string) (netip.AddrPort, error)) (guest.StoreAddresses, error) {
	t := c.Spec.Topology
	s := locks.Store{Topology: t.Name, Dir: c.Dir.Shared}
	servers := c.Machines.servers
	if servers == nil {
		return guest.Addresses(s), nil
	}
	s.Service, s.Params = c.Spec.Service.Name, servers.Params()
	entry, targets := s.Service, []string{LeaderName}
	if t.Entry != "" {
		entry, targets = t.Entry, nil
		for _, n := range t.InPart(t.Entry) {
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

// listeners gives each client a listener of the proxy for each node.
type listeners struct{}

func (listeners) Enter(c *Cluster, client string, _ int) error {
	return c.Net.AddClient(client, netip.Addr{})
}

func (listeners) Dial(ctx context.Context, c *Cluster, from, to string) (net.Conn, error) {
	at, err := c.Net.ListenerFor(from, to)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "tcp4", at.String())
}

func (listeners) Store(c *Cluster, client string, hello guest.Hello) (guest.StoreAddresses, error) {
	discovers := c.Topology().Discovers
	if discovers && !hello.AddrMap {
		return guest.StoreAddresses{}, world.Unsupportedf("servers lead clients to their own addresses, and this guest does not dial others in " +
			"their place by the open request's addr_map, so faults on its links could not find it; " +
			`if it can, let its hello say "addr_map":true`)
	}
	s, err := StoreAt(c, func(target string) (netip.AddrPort, error) { return c.Net.ListenerFor(client, target) })
	if hello.SourceAddress {
		// Such a guest expects an address. Here its listeners identify it.
		s.LocalAddr = "127.0.0.1"
	}
	if err != nil || !discovers {
		return s, err
	}
	s.AddrMap = map[string]string{}
	for addr, node := range c.Called {
		at, err := c.Net.ListenerFor(client, node)
		if err != nil {
			return s, err
		}
		s.AddrMap[addr] = at.String()
	}
	return s, nil
}
