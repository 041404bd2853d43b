//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"lockbench/internal/guest"
	"lockbench/internal/world"
)

// Enter registers a client with the proxy.
func (c *Cluster) Enter(name string, _ int) error { return c.Proxy.AddClient(name, netip.Addr{}) }

// PingFor pings a node through the listener of a client.
func (c *Cluster) PingFor(ctx context.Context, client, to string, bytes int) error {
	at, err := c.Proxy.ListenerFor(client, to)
	if err != nil {
		return fmt.Errorf("ping %s: %w", to, err)
	}
	return c.Greet(ctx, client, to, bytes, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	})
}

// Split separates links between servers from those of clients.
func (c *Cluster) Split(all []world.Link) (between, clients []world.Link) {
	for _, l := range all {
		_, from := c.node(l.From)
		_, to := c.node(l.To)
		if from == nil && to == nil {
			between = append(between, l)
		} else {
			clients = append(clients, l)
		}
	}
	return between, clients
}

// StoreForClient returns addresses that only this guest uses, so that faults on its links concern
// it. called maps the addresses by which servers redirect clients to the names of nodes.
func (c *Cluster) StoreForClient(client string, hello guest.Hello, called map[string]string) (guest.StoreAddresses, error) {
	if c.Topology().Discovers && !hello.AddrMap {
		return guest.StoreAddresses{}, fmt.Errorf("%w: servers lead clients to their own addresses, and this guest does not dial others in "+
			"their place by the open request's addr_map, so faults on its links could not find it; "+
			`if it can, let its hello say "addr_map":true`, world.ErrUnsupportedHere)
	}
	s, err := c.Store(func(target string) (netip.AddrPort, error) { return c.Proxy.ListenerFor(client, target) })
	if hello.SourceAddress {
		// Such a guest expects an address. Here its listeners identify it.
		s.LocalAddr = "127.0.0.1"
	}
	if err != nil || !c.Topology().Discovers {
		return s, err
	}
	s.AddrMap = map[string]string{}
	for addr, node := range called {
		at, err := c.Proxy.ListenerFor(client, node)
		if err != nil {
			return s, err
		}
		s.AddrMap[addr] = at.String()
	}
	return s, nil
}
