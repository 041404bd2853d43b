package simredis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/sim"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/redis"
)

// The ports of data nodes and of sentinels.
const (
	dataPort     = 6379
	sentinelPort = 26379
)

// masterName is what sentinels call the master that they watch.
const masterName = "mymaster"

// serviceName is the name of the address that follows the master of the topology
// replicated; clients know their only node by it.
const serviceName = "master"

// cluster is the servers of one topology.
type cluster struct {
	host      *sim.Host
	form      service.Topology
	topology  locks.Topology // its name
	settings  settings
	servers   []sim.Server // all, and what they have in common
	seats     []*seat
	data      []*node
	sentinels []*sentinel
	foreign   atomic.Bool // some client's lock is not one of the catalog
	heard     func(name string, args []string)

	// mu guards who is what: roles, replication, sentinels. It is never held across a
	// wait or a call into a server.
	mu      sync.Mutex
	service *node  // the node behind the address that follows the master; nil: there is none
	address string // which
}

var (
	_ sim.Service        = (*cluster)(nil)
	_ service.Promoter   = (*cluster)(nil)
	_ service.Replicates = (*cluster)(nil)
	_ service.Keeper     = (*cluster)(nil)
	_ service.Orderly    = (*cluster)(nil)
	_ service.Clock      = (*cluster)(nil)
)

// New makes the servers of a cluster.
func (m Model) New(h *sim.Host, s world.Spec) (sim.Service, error) {
	switch s.Topology.Name {
	case locks.None, locks.Single, locks.Replicated, redis.Sentinel, locks.Independent:
	default:
		return nil, fmt.Errorf("%w: the simulation has no topology %q; those it has are single, replicated, sentinel, independent, and none for controls",
			world.ErrUnsupportedHere, s.Topology.Name)
	}
	c := &cluster{host: h, form: s.Topology, topology: s.Topology.Name, heard: m.heard}
	var err error
	if c.settings, err = readSettings(s.Settings); err != nil {
		return nil, err
	}
	for _, n := range s.Topology.Nodes() {
		if n.Role == service.Witness {
			w := &sentinel{votes: map[int]string{}}
			c.seatAt(&w.seat, n, 1, sentinelPort)
			c.sentinels, c.servers = append(c.sentinels, w), append(c.servers, w)
			continue
		}
		d := &node{}
		c.seatAt(&d.seat, n, 0, dataPort)
		c.data, c.servers = append(c.data, d), append(c.servers, d)
	}
	if c.replicates() {
		for _, n := range c.data[1:] {
			n.following = c.data[0].Name
		}
	}
	if c.topology == locks.Replicated {
		c.service, c.address = c.data[0], h.Float(dataPort)
		h.Move(c.address, c.service.index)
	}
	return c, nil
}

// seatAt gives a server its place and its address.
func (c *cluster) seatAt(s *seat, n service.Node, subnet, port int) {
	s.Node, s.cluster, s.index = n, c, len(c.seats)
	s.addr = c.host.Address(subnet, s.index, port)
	c.seats = append(c.seats, s)
}

func (c *cluster) Nodes() []service.Node {
	var nodes []service.Node
	for _, s := range c.seats {
		nodes = append(nodes, s.Node)
	}
	return nodes
}

// Processes are those of Nodes.
func (c *cluster) Processes() []sim.Server { return c.servers }

func (c *cluster) Topology() service.Topology { return c.form }

// Opened takes note of a client: what a lock from outside the catalog sends is its own, and so is
// what one sends that is wrong on purpose.
func (c *cluster) Opened(s world.ClientSpec) {
	if s.Opener != nil || s.Module != "" || s.OwnScripts {
		c.foreign.Store(true)
	}
}

// Store is what a client may know of the cluster.
func (c *cluster) Store() locks.Store {
	var nodes []locks.Node
	switch c.topology {
	case locks.None:
		return locks.Store{Topology: locks.None}
	case locks.Replicated:
		return redis.Store(locks.Replicated, locks.Node{Name: serviceName, Addr: c.address})
	case redis.Sentinel:
		for _, n := range c.sentinels {
			nodes = append(nodes, locks.Node{Name: n.Name, Addr: n.addr})
		}
		return redis.SentinelStore(masterName, nodes...)
	}
	for _, n := range c.data {
		nodes = append(nodes, locks.Node{Name: n.Name, Addr: n.addr})
	}
	return redis.Store(c.topology, nodes...)
}

// replicates reports whether one of the data nodes is the master of the others.
func (c *cluster) replicates() bool {
	return c.topology == locks.Replicated || c.topology == redis.Sentinel
}

// seat finds a server.
func (c *cluster) seat(name string) (*seat, error) {
	for _, s := range c.seats {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q in this cluster", name)
}

// node finds a server that holds data.
func (c *cluster) node(name string) (*node, error) {
	for _, n := range c.data {
		if n.Name == name {
			return n, nil
		}
	}
	if _, err := c.seat(name); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s keeps no data", name)
}

// ClockOffset returns by how much the clock of a server is wrong.
func (c *cluster) ClockOffset(_ context.Context, name string) (time.Duration, error) {
	s, err := c.seat(name)
	if err != nil {
		return 0, err
	}
	return s.clock.Offset(), nil
}
