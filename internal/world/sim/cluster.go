package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// The abilities of a simulated cluster.
var (
	_ world.Cluster        = (*cluster)(nil)
	_ world.NodeKiller     = (*cluster)(nil)
	_ world.NodePauser     = (*cluster)(nil)
	_ world.LinkCutter     = (*cluster)(nil)
	_ world.LinkShaper     = (*cluster)(nil)
	_ world.LinkThrottler  = (*cluster)(nil)
	_ world.ReplyDropper   = (*cluster)(nil)
	_ world.Promoter       = (*cluster)(nil)
	_ world.Prober         = (*cluster)(nil)
	_ world.Keeper         = (*cluster)(nil)
	_ world.RequestCounter = (*cluster)(nil)
	_ world.RequestHolder  = (*cluster)(nil)
	_ world.ConnResetter   = (*cluster)(nil)
	_ world.Operator       = (*cluster)(nil)
	_ world.ClockShifter   = (*cluster)(nil)
	_ world.Pacer          = (*cluster)(nil)

	_ world.ClientClockShifter = (*cluster)(nil)
)

// masterName is what sentinels call the master that they watch.
const masterName = "mymaster"

// serviceName is the name of the address that follows the master of the topology
// replicated; clients know their only node by it.
const serviceName = "master"

// serviceAddr is that address.
const serviceAddr = "10.0.0.100:6379"

// cluster is one running lock service and its clients.
type cluster struct {
	world    *World
	spec     world.Spec
	settings settings
	net      *network
	nodes    []*node
	done     chan struct{} // closed when the cluster ends
	loops    sync.WaitGroup
	foreign  atomic.Bool // some client's lock is not one of the catalog

	// mu guards who is what: roles, replication, sentinels, clients. It is taken
	// before the network's and never held across a wait or a call into a server.
	mu      sync.Mutex
	service string // the node behind the service address of replicated
	clients map[int]*client
	ways    map[world.Link]*lane // what nodes tell each other
	faulty  error                // what the simulation could not do, and was asked to
	giveUp  func(error)          // ends the run
}

func (w *World) newCluster(s world.Spec) (*cluster, error) {
	c := &cluster{
		world: w, spec: s, net: newNetwork(s.Seed, w.options.Latency, &w.moved),
		done: make(chan struct{}), clients: map[int]*client{}, ways: map[world.Link]*lane{},
	}
	switch s.Topology {
	case locks.None, locks.Single, locks.Replicated, locks.Sentinel, locks.Independent:
	default:
		return nil, fmt.Errorf("%w: the simulation has no topology %q; it has none, single, replicated, sentinel and independent",
			world.ErrUnsupportedHere, s.Topology)
	}
	var err error
	if c.settings, err = readSettings(s.Settings); err != nil {
		return nil, err
	}
	usual := world.UsualNodes(s)
	if len(usual) > nodesMax {
		return nil, fmt.Errorf("%d servers are too many: the simulation has room for %d", len(usual), nodesMax)
	}
	for i, n := range usual {
		c.nodes = append(c.nodes, c.newNode(n, i))
	}
	if s.Topology == locks.Replicated {
		c.service = c.nodes[0].Name
	}
	return c, nil
}

// nodesMax bounds the nodes, so that each way between two has a class of its own.
const nodesMax = 40

// start starts all nodes: a cluster in virtual time is whole from the first instant.
func (c *cluster) start() {
	for _, n := range c.nodes {
		n.boot(nil)
	}
	if c.replicates() {
		for _, n := range c.of(world.Data)[1:] {
			n.follow(c.nodes[0].Name)
		}
	}
	for _, n := range c.nodes {
		switch {
		case n.Kind == world.Watchman:
			c.every(n, sentinelTickMin, sentinelTickMax, n.sentinel.tick)
		case c.replicates():
			c.every(n, replicationTick, replicationTick, n.cron)
		}
	}
	if c.spec.Topology != locks.None {
		// As the real worlds do: nobody meets a cluster that is still forming.
		for limit := 0; limit < 1000 && c.Healthy(context.Background()) != nil; limit++ {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// every does something again and again, in a node's own instants and after a drawn
// time, while the node runs.
func (c *cluster) every(n *node, least, most time.Duration, do func()) {
	chance := c.chance("every/" + n.Name)
	wait := func() time.Duration {
		at := time.Now().Add(least + time.Duration(chance.Int64N(int64(most-least)+1)))
		return time.Until(class(classNodes + n.index).next(at))
	}
	c.loops.Go(func() {
		timer := time.NewTimer(wait())
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-c.done:
				return
			}
			if n.running() {
				do()
			}
			timer.Reset(wait())
		}
	})
}

// stop ends everything that is left of the cluster.
func (c *cluster) stop() error {
	c.mu.Lock()
	clients := make([]*client, 0, len(c.clients))
	for _, cl := range c.clients {
		if cl != nil {
			clients = append(clients, cl)
		}
	}
	c.mu.Unlock()
	slices.SortFunc(clients, func(a, b *client) int { return a.id - b.id })
	var errs []error
	for _, cl := range clients {
		errs = append(errs, cl.end())
	}
	close(c.done)
	c.loops.Wait()
	c.net.stop()
	for _, n := range c.nodes {
		n.shut()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(append(errs, c.faulty)...); err != nil {
		return fmt.Errorf("end the simulated cluster: %w", err)
	}
	return nil
}

// fault marks the run as one whose history proves nothing: something was asked for
// that the simulated server does otherwise than a real one.
func (c *cluster) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faulty == nil {
		c.faulty = fmt.Errorf(format, args...)
		c.giveUp(c.faulty)
	}
}

// Nodes are all servers.
func (c *cluster) Nodes() []world.Node {
	var nodes []world.Node
	for _, n := range c.nodes {
		nodes = append(nodes, n.Node)
	}
	return nodes
}

// Topology is what the nodes form.
func (c *cluster) Topology() locks.Topology { return c.spec.Topology }

// Settle waits for the next instant that is the actor's own.
func (c *cluster) Settle(actor string) { settle(classOf(actor)) }

func (c *cluster) node(name string) (*node, error) {
	for _, n := range c.nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q in this cluster", name)
}

// of lists the nodes of one kind.
func (c *cluster) of(kind world.Kind) []*node {
	var nodes []*node
	for _, n := range c.nodes {
		if n.Kind == kind {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// at finds the node behind an address.
func (c *cluster) at(addr string) (*node, error) {
	if addr == serviceAddr && c.spec.Topology == locks.Replicated {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.node(c.service)
	}
	for _, n := range c.nodes {
		if n.addr == addr {
			return n, nil
		}
	}
	return nil, fmt.Errorf("nobody has the address %s in this simulation", addr)
}

// replicates tells whether one of the data nodes is the master of the others.
func (c *cluster) replicates() bool {
	return c.spec.Topology == locks.Replicated || c.spec.Topology == locks.Sentinel
}

// store is what a client may know of the cluster.
func (c *cluster) store() locks.Store {
	s := locks.Store{Topology: c.spec.Topology}
	list := func(nodes []*node) (out []locks.Node) {
		for _, n := range nodes {
			out = append(out, locks.Node{Name: n.Name, Addr: n.addr})
		}
		return out
	}
	switch c.spec.Topology {
	case locks.Single, locks.Independent:
		s.Nodes = list(c.nodes)
	case locks.Replicated:
		s.Nodes = []locks.Node{{Name: serviceName, Addr: serviceAddr}}
	case locks.Sentinel:
		s.MasterName = masterName
		s.Sentinels = list(c.of(world.Watchman))
	}
	return s
}

// way is the lane on which one node tells another something. Needs c.mu.
func (c *cluster) way(from, to *node) *lane {
	link := world.Link{From: from.Name, To: to.Name}
	l := c.ways[link]
	if l == nil {
		l = c.net.newLane(link, "way/"+link.String(), class(classWays+from.index*nodesMax+to.index), 1, func(p parcel) { to.hear(from, p.talk) })
		c.ways[link] = l
	}
	return l
}

// tell sends something from one node to another. Needs c.mu.
func (c *cluster) tell(from, to *node, talk any) { c.way(from, to).send(parcel{talk: talk}) }

// chance is the chance of one decision, by its name.
func (c *cluster) chance(what string) *rand.Rand {
	return rand.New(rand.NewPCG(c.net.seed, hash(what)))
}

func tcpAddr(addr string) *net.TCPAddr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)) }
