//go:build linux

package cluster

import (
	"context"
	"net"
	"net/netip"
	"time"

	"lockbench/internal/service"
)

var _ service.Host = host{}

// host is the machines with the network between them, for the service.
type host struct {
	*Machines
	cluster *Cluster
}

// Lead makes the address that follows the leader lead to a node.
func (h host) Lead(name string) error { return h.cluster.Net.Move(LeaderName, name) }

// Reaches returns an error unless one node can reach another.
func (h host) Reaches(ctx context.Context, from, to string) error {
	return h.cluster.Ping(ctx, from, to, 0)
}

// Addr returns the address at which other nodes find a node.
func (m *Machines) Addr(name string) netip.AddrPort {
	n, err := m.node(name)
	if err != nil {
		return netip.AddrPort{}
	}
	return n.announced()
}

// AddrFor returns the address at which viewer finds a port of a node.
func (m *Machines) AddrFor(viewer, node string, port int) netip.AddrPort {
	ports := m.Peers[viewer][node]
	if port < 0 || port >= len(ports) {
		return netip.AddrPort{}
	}
	return ports[port]
}

// Dial connects to a node and bypasses all faults.
func (m *Machines) Dial(ctx context.Context, name string) (net.Conn, error) {
	n, err := m.node(name)
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx)
}

// Status returns the state of a node's process.
func (m *Machines) Status(name string) service.Status {
	n, err := m.node(name)
	if err != nil {
		return service.Status{Why: err}
	}
	return n.status()
}

// Follow configures a node to follow leader when it is started, or no node if leader is zero.
func (m *Machines) Follow(name string, leader netip.AddrPort) error {
	n, err := m.node(name)
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

// Settings returns the server settings that the user has set.
func (m *Machines) Settings() map[string]string { return m.spec.Settings }
