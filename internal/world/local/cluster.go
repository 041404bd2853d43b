//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/mesh"
	"lockbench/locks"
)

// The abilities of a local cluster.
var (
	_ world.Cluster        = (*cluster)(nil)
	_ world.NodeKiller     = (*cluster)(nil)
	_ world.NodePauser     = (*cluster)(nil)
	_ world.LinkCutter     = (*cluster)(nil)
	_ world.LinkShaper     = (*cluster)(nil)
	_ world.ReplyDropper   = (*cluster)(nil)
	_ world.Promoter       = (*cluster)(nil)
	_ world.Prober         = (*cluster)(nil)
	_ world.RequestCounter = (*cluster)(nil)
)

// cluster is one running lock service and its clients.
type cluster struct {
	world   *World
	spec    world.Spec
	server  string // path of redis-server
	block   *block
	port    uint16   // the same everywhere
	dir     string   // temporary: all that servers write, and what file locks share
	owner   *os.File // held locked in dir while this process lives
	mesh    *mesh.Mesh
	network *logFile // what the mesh has to say
	nodes   []*node  // in the order of Nodes

	mu      sync.Mutex
	clients map[int]opened
	pings   map[string]int // PINGs that we sent in the name of a client
	service string         // the node behind the service address of replicated
}

// opened is a client that can be ended whatever it does.
type opened interface {
	world.Client
	end(ctx context.Context) error
}

// serviceName is the name of the address that follows the master of the topology
// replicated; clients know their only node by it.
const serviceName = "master"

// masterName is what sentinels call the master that they watch.
const masterName = "mymaster"

// stopLimit bounds the end of a cluster, which kills and has nobody to ask.
const stopLimit = 20 * time.Second

// newCluster claims what a cluster needs and starts nothing yet.
func (w *World) newCluster(s world.Spec) (_ *cluster, err error) {
	c := &cluster{world: w, spec: s, clients: map[int]opened{}, pings: map[string]int{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	switch s.Topology {
	case locks.None, locks.Single, locks.Replicated, locks.Sentinel, locks.Independent:
	default:
		return nil, fmt.Errorf("the local world has no topology %q; it has none, single, replicated, sentinel and independent", s.Topology)
	}
	usual := world.UsualNodes(s)
	if len(usual) > nodesMax {
		return nil, fmt.Errorf("%d servers are too many: the addresses of a cluster suffice for %d", len(usual), nodesMax)
	}
	if len(usual) > 0 {
		if c.server, err = w.server(); err != nil {
			return nil, err
		}
	}
	if c.dir, c.owner, err = claimDir(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.shared(), 0o755); err != nil {
		return nil, fmt.Errorf("make the clients' shared directory: %w", err)
	}
	if s.LogDir != "" {
		if err := os.MkdirAll(s.LogDir, 0o755); err != nil {
			return nil, fmt.Errorf("make the log directory: %w", err)
		}
	}
	if c.block, err = claimBlock(); err != nil {
		return nil, err
	}
	addrs := []netip.Addr{c.block.service()}
	for k := range usual {
		addrs = append(addrs, c.block.real(k+1), c.block.announced(k+1))
	}
	if c.port, err = freePort(addrs); err != nil {
		return nil, err
	}
	if c.network, err = openLog(s.LogDir, "network"); err != nil {
		return nil, err
	}
	c.mesh = mesh.New(mesh.Options{Log: c.network.line})
	for k, n := range usual {
		node, err := c.newNode(n, k+1)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, node)
		if err := c.mesh.AddNode(mesh.Node{Name: n.Name, Real: node.real, Announced: node.announced}); err != nil {
			return nil, err
		}
	}
	if s.Topology == locks.Replicated {
		c.service = c.nodes[0].Name
		if err := c.mesh.AddService(serviceName, netip.AddrPortFrom(c.block.service(), c.port), c.service); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// start starts all servers and returns when the cluster is healthy.
func (c *cluster) start(ctx context.Context) error {
	// The first master goes first: a replica that finds none tries again after a
	// second, and would make the start that much longer.
	rest := c.nodes
	if len(rest) > 0 {
		if err := rest[0].start(ctx); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if err := each(rest, func(n *node) error { return errors.Join(n.start(ctx), n.pace(ctx, hurried)) }); err != nil {
		return err
	}
	if err := c.awaitHealthy(ctx); err != nil {
		return err
	}
	return each(c.nodes, func(n *node) error { return n.pace(ctx, steady) })
}

// stop ends everything that is left of the cluster, in whatever state it is.
func (c *cluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	c.mu.Lock()
	var clients []opened
	for _, client := range c.clients {
		clients = append(clients, client)
	}
	c.mu.Unlock()
	errs := []error{
		each(clients, func(o opened) error { return o.end(ctx) }),
		each(c.nodes, func(n *node) error { return n.end(ctx) }),
	}
	if c.mesh != nil {
		errs = append(errs, c.mesh.Close())
		c.network.close()
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir), c.owner.Close())
	}
	if c.block != nil {
		c.block.release()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the local cluster: %w", err)
	}
	return nil
}

// shared is the directory that all clients share.
func (c *cluster) shared() string { return filepath.Join(c.dir, "shared") }

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

// announcedAt finds the node that announces an address.
func (c *cluster) announcedAt(ip string) (*node, bool) {
	for _, n := range c.nodes {
		if n.announced.Addr().String() == ip {
			return n, true
		}
	}
	return nil, false
}

// store is what a client may know of the cluster. Where gives the address under
// which the client reaches a node or the service.
func (c *cluster) store(where func(target string, announced netip.AddrPort) (netip.AddrPort, error)) (locks.Store, error) {
	s := locks.Store{Topology: c.spec.Topology, Dir: c.shared()}
	list := func(nodes []*node) ([]locks.Node, error) {
		var out []locks.Node
		for _, n := range nodes {
			at, err := where(n.Name, n.announced)
			if err != nil {
				return nil, err
			}
			out = append(out, locks.Node{Name: n.Name, Addr: at.String()})
		}
		return out, nil
	}
	var err error
	switch c.spec.Topology {
	case locks.Single, locks.Independent:
		s.Nodes, err = list(c.nodes)
	case locks.Replicated:
		var at netip.AddrPort
		at, err = where(serviceName, netip.AddrPortFrom(c.block.service(), c.port))
		s.Nodes = []locks.Node{{Name: serviceName, Addr: at.String()}}
	case locks.Sentinel:
		s.MasterName = masterName
		s.Sentinels, err = list(c.of(world.Watchman))
	}
	return s, err
}

// each calls f for all items side by side, and joins the errors.
func each[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
