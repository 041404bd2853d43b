//go:build linux

package cluster

import (
	"context"
	"net"
	"net/netip"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// Addresses is how clients reach the nodes.
type Addresses interface {
	// Enter registers a client with the proxy; index counts the clients of the cluster from 0.
	Enter(client string, index int) error
	// Store returns the addresses for a guest by which faults on its links concern it alone.
	Store(client string, hello guest.Hello) (guest.StoreAddresses, error)
	// Dial connects to a node on the path of the connections of a client or another node.
	Dial(ctx context.Context, from, to string) (net.Conn, error)
}

// StoreAt returns the addresses and parameters that a client needs. where returns the address under
// which the client reaches a node, or [LeaderName].
func (c *Cluster) StoreAt(where func(target string) (netip.AddrPort, error)) (guest.StoreAddresses, error) {
	t := c.Spec.Topology
	s := locks.Store{Topology: t.Name, Dir: c.Dir.Shared}
	if c.servers == nil {
		return guest.Addresses(s), nil
	}
	s.Service, s.Params = c.Spec.Service.Name, c.servers.Params()
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
type listeners struct{ *Cluster }

func (l listeners) Enter(client string, _ int) error { return l.AddClient(client, netip.Addr{}) }

func (l listeners) Dial(ctx context.Context, from, to string) (net.Conn, error) {
	at, err := l.ListenerFor(from, to)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "tcp4", at.String())
}

func (l listeners) Store(client string, hello guest.Hello) (guest.StoreAddresses, error) {
	discovers := l.Topology().Discovers
	if discovers && !hello.AddrMap {
		return guest.StoreAddresses{}, world.Unsupportedf("servers lead clients to their own addresses, and this guest does not dial others in " +
			"their place by the open request's addr_map, so faults on its links could not find it; " +
			`if it can, let its hello say "addr_map":true`)
	}
	s, err := l.StoreAt(func(target string) (netip.AddrPort, error) { return l.ListenerFor(client, target) })
	if hello.SourceAddress {
		// Such a guest expects an address. Here its listeners identify it.
		s.LocalAddr = "127.0.0.1"
	}
	if err != nil || !discovers {
		return s, err
	}
	s.AddrMap = map[string]string{}
	for addr, node := range l.Called {
		at, err := l.ListenerFor(client, node)
		if err != nil {
			return s, err
		}
		s.AddrMap[addr] = at.String()
	}
	return s, nil
}
