//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// startLimit bounds the start of a killed node.
const startLimit = 3 * time.Minute

// Machines are the machines of all servers. They start, kill and pause the servers.
type Machines struct {
	// Preload is the library that shifts the clocks of servers; empty: they are not shifted.
	Preload string

	// Peers lists the ports of each node as each viewer finds them, by viewer and node. A world
	// sets it before it creates the nodes.
	Peers map[string]map[string][]netip.AddrPort

	spec    world.Spec
	servers service.Servers // nil without servers
	nodes   []*node         // in the order of service.Group.Nodes
}

// Add adds a node. Without a place, its files and its leader cannot be changed.
func (m *Machines) Add(n service.Node, on Machine, place *service.Place) {
	m.nodes = append(m.nodes, &node{Node: n, Machine: on, service: m.spec.Service, place: place})
}

// PlaceFor returns the place of the next node, which follows the first one.
func (m *Machines) PlaceFor(n service.Node) service.Place {
	p := service.Place{Node: n, Topology: m.spec.Topology, Settings: m.spec.Settings, Peers: m.Peers[n.Name]}
	if len(m.nodes) > 0 {
		first := m.AddrFor(n.Name, m.nodes[0].Name, 0)
		p.Leader = &first
	}
	return p
}

// After returns an address with a port i higher.
func After(at netip.AddrPort, i int) netip.AddrPort {
	return netip.AddrPortFrom(at.Addr(), at.Port()+uint16(i))
}

// Ports returns how many consecutive ports each node has.
func (m *Machines) Ports() int { return 1 + m.spec.Topology.PeerPorts }

// Launch writes the files of all nodes and starts them.
func (m *Machines) Launch(ctx context.Context) error {
	err := service.Each(m.nodes, func(n *node) error {
		if n.place == nil {
			return nil
		}
		return n.move(ctx, func(*service.Place) {})
	})
	if err != nil {
		return err
	}
	rest := m.nodes
	if len(rest) > 0 && m.spec.Topology.FirstAlone {
		if err := m.start(ctx, rest[0], true); err != nil {
			return err
		}
		rest = rest[1:]
	}
	return service.Each(rest, func(n *node) error { return m.start(ctx, n, true) })
}

// start starts a node and waits until it answers.
func (m *Machines) start(ctx context.Context, n *node, keepData bool) error {
	name := n.Name
	if n.status().Running {
		return fmt.Errorf("start %s: it is running", name)
	}
	if err := m.rejoin(ctx, n, keepData); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := n.launch(ctx, keepData); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for look := 1; ; look++ {
		err := m.servers.Answers(ctx, name)
		if err == nil {
			return m.servers.Started(ctx, name)
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
func (m *Machines) rejoin(ctx context.Context, n *node, keepData bool) error {
	if keepData {
		return nil
	}
	joins, err := m.servers.Rejoin(ctx, n.Name)
	if err != nil || !joins {
		return err
	}
	return n.move(ctx, func(p *service.Place) { p.Rejoins = true })
}

// node finds a node by its name.
func (m *Machines) node(name string) (*node, error) {
	i := slices.IndexFunc(m.nodes, func(n *node) bool { return n.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q in this cluster", name)
	}
	return m.nodes[i], nil
}

// has reports whether there is a node with a name.
func (m *Machines) has(name string) bool {
	_, err := m.node(name)
	return err == nil
}

// change calls f with a node that no other fault starts, pauses or ends meanwhile.
func (m *Machines) change(name string, f func(*node) error) error {
	n, err := m.node(name)
	if err != nil {
		return err
	}
	n.life.Lock()
	defer n.life.Unlock()
	return f(n)
}

// Start starts a killed node.
func (m *Machines) Start(ctx context.Context, name string, keepData bool) error {
	return m.change(name, func(n *node) error {
		n.held = false
		ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
		defer cancel()
		return m.start(ctx, n, keepData)
	})
}

// Kill kills a node.
func (m *Machines) Kill(ctx context.Context, name string) error {
	return m.change(name, func(n *node) error {
		n.held = true
		return n.Kill(ctx)
	})
}

// Renew restarts a running node with its initial data.
func (m *Machines) Renew(ctx context.Context, name string) error {
	return m.change(name, func(n *node) error {
		if s := n.status(); n.held || s.Paused {
			return fmt.Errorf("renew %s: it is not to run now: %w", name, s.Why)
		}
		if err := n.Kill(ctx); err != nil {
			return fmt.Errorf("renew %s: %w", name, err)
		}
		return m.start(ctx, n, false)
	})
}

// Pause stops a node's process, whose sockets stay open.
func (m *Machines) Pause(ctx context.Context, name string) error {
	return m.change(name, func(n *node) error {
		n.paused.Store(true)
		return n.Pause(ctx)
	})
}

// Resume continues a node's process.
func (m *Machines) Resume(ctx context.Context, name string) error {
	n, err := m.node(name)
	if err != nil {
		return err
	}
	n.paused.Store(false)
	if err := n.Resume(ctx); err != nil {
		return err
	}
	return m.servers.Resumed(ctx, name)
}

// Identity returns the identity of the node at an address.
func (m *Machines) Identity(ctx context.Context, at netip.AddrPort) (string, error) {
	identity := m.servers.Abilities().Identity
	if identity == nil {
		return "", fmt.Errorf("%s does not tell one node from another", m.spec.Service.Name)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return identity(ctx, conn)
}

// end kills all programs and removes their machines.
func (m *Machines) end(ctx context.Context) error {
	return service.Each(m.nodes, func(n *node) error { return n.End(ctx) })
}
