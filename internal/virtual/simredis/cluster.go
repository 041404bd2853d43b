package simredis

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/locks"
)

// The ports of data nodes and of sentinels.
const (
	dataPort     = 6379
	sentinelPort = 26379
)

// masterName is the name under which sentinels watch the master.
const masterName = "mymaster"

// serviceName is the name of the address that follows the master in the topology replicated. It is the only node that
// clients know.
const serviceName = "master"

// cluster is the simulated servers of one topology.
type cluster struct {
	service.Group // controls the servers, as it controls real ones
	host          *sim.Host
	topology      locks.Topology // its name
	settings      settings
	servers       []sim.Server // all servers, data nodes and sentinels
	seats         []*seat
	data          []*node
	sentinels     []*sentinel
	foreign       atomic.Bool // the lock of some client is not in the catalog
	heard         func(name string, args []string)

	// mu guards roles, replication and sentinels. It is never held during a wait or a call into a server.
	mu      sync.Mutex
	service *node  // the node at the address that follows the master, or nil
	address string // which
}

var _ sim.Service = (*cluster)(nil)

// New creates the servers of a cluster.
func (m Model) New(h *sim.Host, s world.Spec) (sim.Service, error) {
	switch s.Topology.Name {
	case locks.Single, locks.Replicated, locks.Sentinel, locks.Independent:
	default:
		return nil, world.Unsupportedf("the simulation has no topology %q; those it has are single, replicated, sentinel and independent",
			s.Topology.Name)
	}
	c := &cluster{host: h, topology: s.Topology.Name, heard: m.heard}
	c.Group = redis.Controlled(s.Topology, control{cluster: c}, c.ask)
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
		d := &node{disk: disk{settings: c.settings}}
		d.role.seat = &d.seat
		c.seatAt(&d.seat, n, 0, dataPort)
		c.data, c.servers = append(c.data, d), append(c.servers, d)
	}
	if c.replicates() {
		for _, n := range c.data[1:] {
			n.role.following = c.data[0].Name
		}
	}
	if c.topology == locks.Replicated {
		c.service, c.address = c.data[0], h.Float(dataPort)
		h.Move(c.address, c.service.index)
	}
	return c, nil
}

// seatAt assigns a server its number and its address.
func (c *cluster) seatAt(s *seat, n service.Node, subnet, port int) {
	s.Node, s.cluster, s.index = n, c, len(c.seats)
	s.addr = c.host.Address(subnet, s.index, port)
	c.seats = append(c.seats, s)
}

// Processes returns the processes of the nodes.
func (c *cluster) Processes() []sim.Server { return c.servers }

// Opened registers a client. The scripts of locks that are not in the catalog, and of mutants, are not restricted to the
// compared ones.
func (c *cluster) Opened(s world.ClientSpec) {
	if s.Opener != nil || s.Module != "" || s.OwnScripts {
		c.foreign.Store(true)
	}
}

// Store returns the addresses of the cluster for a client.
func (c *cluster) Store() locks.Store {
	var nodes []locks.Node
	switch c.topology {
	case locks.Replicated:
		return redis.Store(locks.Replicated, locks.Node{Name: serviceName, Addr: c.address})
	case locks.Sentinel:
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
	return c.topology == locks.Replicated || c.topology == locks.Sentinel
}

// seat finds a server by its name.
func (c *cluster) seat(name string) (*seat, error) {
	for _, s := range c.seats {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q in this cluster", name)
}

// node finds a data node by its name.
func (c *cluster) node(name string) *node {
	return c.data[slices.IndexFunc(c.data, func(n *node) bool { return n.Name == name })]
}
