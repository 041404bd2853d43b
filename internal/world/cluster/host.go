//go:build linux

package cluster

import (
	"context"
	"net"
	"net/netip"
	"time"

	"lockbench/internal/service"
)

// The methods below implement [service.Host].

// Addr returns the address at which other nodes find a node.
func (c *Cluster) Addr(name string) netip.AddrPort {
	n, err := c.node(name)
	if err != nil {
		return netip.AddrPort{}
	}
	return n.announced()
}

// AddrFor returns the address at which viewer finds a port of a node.
func (c *Cluster) AddrFor(viewer, node string, port int) netip.AddrPort {
	ports := c.Peers[viewer][node]
	if port < 0 || port >= len(ports) {
		return netip.AddrPort{}
	}
	return ports[port]
}

// Dial connects to a node and bypasses all faults.
func (c *Cluster) Dial(ctx context.Context, name string) (net.Conn, error) {
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx)
}

// Status returns the state of a node's process.
func (c *Cluster) Status(name string) service.Status {
	n, err := c.node(name)
	if err != nil {
		return service.Status{Why: err}
	}
	return n.status()
}

// Follow configures a node to follow leader when it is started, or no node if leader is zero.
func (c *Cluster) Follow(name string, leader netip.AddrPort) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return n.move(ctx, func(p *service.Place) {
		if p.Leader = nil; leader.IsValid() {
			p.Leader = &leader
		}
	})
}

// Lead makes the address that follows the leader lead to a node.
func (c *Cluster) Lead(name string) error { return c.Proxy.Move(LeaderName, name) }

// Reaches returns an error unless one node can reach another.
func (c *Cluster) Reaches(ctx context.Context, from, to string) error {
	return c.Ping(ctx, from, to, 0)
}

// Settings returns the server settings that the user has set.
func (c *Cluster) Settings() map[string]string { return c.Spec.Settings }
