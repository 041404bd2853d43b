package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"lockbench/internal/world"
)

var _ world.Cluster = (*cluster)(nil)

// cluster is one running lock service and its clients.
type cluster struct {
	Service
	world   *World
	net     *network
	nodes   []*node
	done    chan struct{} // closed when the cluster ends
	loops   sync.WaitGroup
	turns   turns // of WASM clients
	clients members

	// mu is taken before the network's, after any of a server's, and never held during a wait.
	mu     sync.Mutex
	addrs  map[string]int       // of nodes, by their index
	ways   map[world.Link]*lane // messages between nodes
	faulty error                // a request that the simulation does not support
	giveUp func(error)          // ends the run
}

func (w *World) newCluster(s world.Spec) (*cluster, error) {
	model, err := w.options.Models.find(s)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		world: w, net: newNetwork(s.Seed, w.options.Latency, &w.moved),
		done: make(chan struct{}), turns: turns{ready: make(chan struct{}, 1)}, clients: members{all: map[int]member{}}, addrs: map[string]int{}, ways: map[world.Link]*lane{},
	}
	c.net.purpose = model.Purpose
	if s.Service != nil { // else there are no servers
		c.net.wire = s.Service.Wire
	}
	if c.Service, err = model.New(&Host{c}, s); err != nil {
		return nil, err
	}
	named, servers := c.Nodes(), c.Processes()
	if len(named) > nodesMax {
		return nil, fmt.Errorf("%d servers are too many: the simulation has room for %d", len(named), nodesMax)
	}
	for i, n := range named {
		directory, _ := servers[i].(Directory)
		c.nodes = append(c.nodes, &node{Node: n, cluster: c, index: i, server: servers[i], directory: directory})
	}
	return c, nil
}

// nodesMax limits the nodes, so that each lane between two nodes has its own class.
const nodesMax = 40

// clientsMax limits the clients at the start of a run, because the duration of a run grows faster
// than their number.
const clientsMax = 1000

// start starts all nodes. A cluster in virtual time is complete from the first instant.
func (c *cluster) start() {
	for _, n := range c.nodes {
		n.boot(false)
	}
	for _, n := range c.nodes {
		n.tick()
	}
	c.loops.Go(func() { c.turns.run(c) })
	// As in the real worlds, clients see only a cluster that is formed.
	for limit := 0; limit < 1000 && c.Healthy(context.Background()) != nil; limit++ {
		time.Sleep(10 * time.Millisecond)
	}
}

// sleepUntil waits until a time. It returns false if the cluster ends first.
func (c *cluster) sleepUntil(at time.Time) bool {
	select {
	case <-time.After(time.Until(at)):
		return true
	case <-c.done:
		return false
	}
}

// stop ends the cluster.
func (c *cluster) stop() error {
	errs := c.clients.end()
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

// Settle waits for the actor's next instant.
func (c *cluster) Settle(actor string) { settle(classOf(actor)) }

// WriteEvery is a long interval, because writing every two milliseconds of virtual time would dominate
// the cost of a run. The odd remainder is in no actor's class, so the writer does not wake in an
// instant in which an event is recorded.
func (c *cluster) WriteEvery() time.Duration { return 250*time.Millisecond + 50_007*time.Nanosecond }

func (c *cluster) node(name string) (*node, error) {
	for _, n := range c.nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q in this cluster", name)
}

// at returns the node at an address.
func (c *cluster) at(addr string) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.addrs[addr]
	if !ok {
		return nil, fmt.Errorf("no node has the address %s in this simulation", addr)
	}
	return c.nodes[i], nil
}

func tcpAddr(addr string) *net.TCPAddr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)) }
