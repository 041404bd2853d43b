//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/child"
	"lockbench/internal/world/mesh"
	"lockbench/internal/world/redisnode"
	"lockbench/locks"
)

// The abilities of a cluster of containers.
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
	_ world.RequestHolder  = (*cluster)(nil)
	_ world.ConnResetter   = (*cluster)(nil)
	_ world.Operator       = (*cluster)(nil)
)

// nodesMax is how many nodes the addresses of a cluster suffice for.
const nodesMax = 200

// serviceName is the name of what follows the master of the topology replicated;
// clients know their only node by it.
const serviceName = "master"

// loopback is where clients are listened for.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// cluster is one running lock service and its clients.
type cluster struct {
	redisnode.Group // what the servers say of themselves, and operators tell them
	child.Clients   // who is open
	mesh.Abilities  // what the mesh can do to links by itself

	spec    world.Spec
	docker  *testcontainers.DockerProvider
	api     client.APIClient
	image   string
	parent  string // the group of processes that containers are put under
	owner   *owner
	subnet  subnet
	dir     *child.Dir // temporary: what file locks share
	preload []byte     // the library that shifts clocks; nil: none is shifted
	network *child.Log // what the mesh has to say
	nodes   []*node    // in the order of Nodes

	say func(line string)
	// joining is held while a container joins the network or leaves it. Daemons have lost
	// count where several did at once, see errMiscounted.
	joining sync.Mutex

	direct    atomic.Bool // this machine reaches containers at their own addresses
	relaying  sync.Mutex  // held while a relay is made
	reachable bool        // from containers; under relaying

	probing sync.WaitGroup

	mu      sync.Mutex
	probes  map[world.Link]*probe // under way, one at most for a way
	links   links
	entries map[string]map[string]netip.AddrPort // by client and node or service
}

// newCluster claims what a cluster needs and starts nothing yet.
func (w *World) newCluster(ctx context.Context, s world.Spec) (_ *cluster, err error) {
	c := &cluster{
		spec: s, say: w.options.Say, docker: w.state.provider, image: w.state.image.Name, parent: w.state.parent,
		links: newLinks(), probes: map[world.Link]*probe{}, entries: map[string]map[string]netip.AddrPort{},
	}
	c.Form = s.Topology
	c.Clients.LogDir, c.Clients.Self, c.Clients.Net = s.LogDir, w.options.Self, c
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	switch s.Topology {
	case locks.None, locks.Single, locks.Replicated, locks.Sentinel, locks.Cluster, locks.Independent:
	default:
		return nil, fmt.Errorf("the docker world has no topology %q; it has none, single, replicated, sentinel, cluster and independent", s.Topology)
	}
	usual := world.UsualNodes(s)
	if len(usual) > nodesMax {
		return nil, fmt.Errorf("%d servers are too many: the addresses of a cluster suffice for %d", len(usual), nodesMax)
	}
	if c.dir, err = child.ClaimDir("lockbench-docker-"); err != nil {
		return nil, err
	}
	if s.LogDir != "" {
		if err := os.MkdirAll(s.LogDir, 0o755); err != nil {
			return nil, fmt.Errorf("make the log directory: %w", err)
		}
	}
	if c.network, err = child.OpenLog(s.LogDir, "network"); err != nil {
		return nil, err
	}
	c.Mesh = mesh.New(mesh.Options{Log: c.network.Line})
	if len(usual) == 0 {
		return c, nil
	}
	c.api = c.docker.Client()
	if err := c.buildClocks(ctx); err != nil {
		return nil, err
	}
	if c.owner, err = claimOwner(); err != nil {
		return nil, err
	}
	if c.subnet, err = createNetwork(ctx, c.api, c.owner); err != nil {
		return nil, err
	}
	for k, n := range usual {
		node, err := c.newNode(n, k)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, node)
		c.Servers = append(c.Servers, node)
	}
	return c, nil
}

// start starts all servers and returns when the cluster is healthy.
func (c *cluster) start(ctx context.Context) error {
	if len(c.nodes) == 0 {
		return nil
	}
	if err := redisnode.Each(c.nodes, func(n *node) error { return n.boot(ctx) }); err != nil {
		return err
	}
	// The first master goes first: a replica that finds none tries again after a
	// second, and would make the start that much longer.
	if err := c.nodes[0].start(ctx, true); err != nil {
		return err
	}
	c.direct.Store(c.nodes[0].reachedDirectly(ctx))
	err := redisnode.Each(c.nodes[1:], func(n *node) error {
		return errors.Join(n.start(ctx, true), redisnode.Pace(ctx, n, redisnode.Hurried))
	})
	if err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := c.Mesh.AddTarget(n.Name, n.addr()); err != nil {
			return err
		}
	}
	if c.spec.Topology == locks.Replicated {
		c.Lead = func(master string) error { return c.Mesh.Move(serviceName, master) }
		c.Mesh.NameService(serviceName, c.Service())
	}
	if c.Form == locks.Cluster {
		if err := c.Assemble(ctx); err != nil {
			return err
		}
	}
	if err := c.AwaitHealthy(ctx); err != nil {
		return err
	}
	return redisnode.Each(c.nodes, func(n *node) error { return redisnode.Pace(ctx, n, redisnode.Steady) })
}

// reachedDirectly sees whether this machine gets to a container at its own address,
// and that it is this one that answers there: on the other side of a tunnel somebody
// else may have the same.
func (n *node) reachedDirectly(ctx context.Context) bool {
	published, err := redisnode.Ask(ctx, n.port.addr(), "INFO", "server")
	if err != nil {
		return false
	}
	own, err := redisnode.Ask(ctx, n.announced, "INFO", "server")
	return err == nil && runID(own) != "" && runID(own) == runID(published)
}

// runID is how a server tells itself from all others.
func runID(info any) string {
	_, after, _ := strings.Cut(fmt.Sprint(info), "run_id:")
	id, _, _ := strings.Cut(after, "\r")
	return id
}

// stop ends everything that is left of the cluster, in whatever state it is.
func (c *cluster) stop() error {
	ctx, cancel := contextWithLimit(context.Background(), stopLimit, "end the cluster")
	defer cancel()
	errs := []error{
		c.Clients.End(ctx),
		redisnode.Each(c.nodes, func(n *node) error { return n.end(ctx) }),
	}
	c.probing.Wait() // the shells are closed, so nobody waits for an answer
	if c.subnet.id != "" {
		err := removeNetwork(ctx, c.api, c.subnet.id)
		if errors.Is(err, errMiscounted) {
			// What was recorded is as good as ever.
			c.say(fmt.Sprintf("%s: %v", c.subnet.name, err))
			err = nil
		}
		errs = append(errs, err)
	}
	if c.Mesh != nil {
		errs = append(errs, c.Mesh.Close())
	}
	if c.network != nil {
		c.network.Close()
	}
	if c.dir != nil {
		errs = append(errs, c.dir.Remove())
	}
	if c.owner != nil {
		c.owner.release()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end the cluster of containers: %w", explain(err))
	}
	return nil
}

// Enter makes a client known to the mesh.
func (c *cluster) Enter(name string, _ int) error { return c.Mesh.AddCaller(name) }

// Leave closes what was listened on for a client.
func (c *cluster) Leave(name string) {
	c.mu.Lock()
	delete(c.entries, name)
	c.mu.Unlock()
	c.Mesh.CloseEntries(name)
}

// entry is where a client reaches a node or the service, and nobody else does.
func (c *cluster) entry(client, target string) (netip.AddrPort, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[client][target]; ok {
		return at, nil
	}
	at, err := c.Mesh.AddEntry(client, target, netip.AddrPortFrom(loopback, 0))
	if err != nil {
		return at, err
	}
	if c.entries[client] == nil {
		c.entries[client] = map[string]netip.AddrPort{}
	}
	c.entries[client][target] = at
	return at, nil
}

// Store gives a guest addresses of its own, so that faults on its links find it.
func (c *cluster) Store(name string, hello guest.Hello) (guest.StoreAddresses, error) {
	s := guest.StoreAddresses{Topology: c.spec.Topology, Dir: c.dir.Shared}
	if hello.SourceAddress {
		// It is used to being told one; here it is known by where it connects to.
		s.LocalAddr = loopback.String()
	}
	list := func(targets []string) ([]locks.Node, error) {
		var out []locks.Node
		for _, target := range targets {
			at, err := c.entry(name, target)
			if err != nil {
				return nil, err
			}
			out = append(out, locks.Node{Name: target, Addr: at.String()})
		}
		return out, nil
	}
	discovered := c.spec.Topology == locks.Sentinel || c.spec.Topology == locks.Cluster
	if discovered && !hello.AddrMap {
		return s, fmt.Errorf("%w: servers lead clients to their containers' addresses, and this guest does not dial others in "+
			"their place by the open request's addr_map, so faults on its links could not find it; "+
			`if it can, let its hello say "addr_map":true`, world.ErrUnsupportedHere)
	}
	var err error
	switch c.spec.Topology {
	case locks.Single, locks.Cluster, locks.Independent:
		s.Nodes, err = list(names(redisnode.OfKind(c.nodes, world.Data)))
	case locks.Replicated:
		s.Nodes, err = list([]string{serviceName})
	case locks.Sentinel:
		s.MasterName = redisnode.MasterName
		s.Sentinels, err = list(names(redisnode.OfKind(c.nodes, world.Watchman)))
	}
	if err != nil || !discovered {
		return s, err
	}
	s.AddrMap = map[string]string{}
	for _, n := range c.nodes {
		at, err := c.entry(name, n.Name)
		if err != nil {
			return s, err
		}
		s.AddrMap[n.announced.String()] = at.String()
	}
	return s, nil
}

func names(nodes []*node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

const (
	// startLimit bounds the start of a cluster, and of a node. Six containers take two
	// seconds or so where nothing else goes on. Each is half a second of work for the
	// daemon, so that on a machine with twenty other busy processes it was a minute.
	startLimit = 3 * time.Minute
	// stopLimit bounds the end of a cluster.
	stopLimit = 2 * time.Minute
)
