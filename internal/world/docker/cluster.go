//go:build linux

package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"golang.org/x/sync/singleflight"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
)

var _ cluster.Links = (*Cluster)(nil)

// Cluster is one running lock service and its clients, in containers.
type Cluster struct {
	cluster.Cluster

	docker *testcontainers.DockerProvider
	api    client.APIClient
	image  string
	words  []string // before the arguments of the nodes' program
	parent string   // the parent cgroup of containers
	owner  *owner
	after  *process.Cleaner
	subnet subnet
	seed   []byte // the initial data of nodes as a tar file; nil: none
	nodes  []*node

	say func(line string)
	// joining is held while a container joins or leaves the network. Some daemons miscount concurrent ones, see
	// errMiscounted.
	joining sync.Mutex

	direct    atomic.Bool // this machine reaches containers at their own addresses
	unreached error       // why containers do not reach this machine, or nil

	probes singleflight.Group // running PINGs between servers, by link

	mu    sync.Mutex
	links map[world.Link]link // between servers
}

// newCluster claims the resources of a cluster and starts nothing yet.
func (w *World) newCluster(ctx context.Context, s world.Spec) (_ *Cluster, err error) {
	c := &Cluster{
		say: w.options.Say, docker: w.state.provider, parent: w.state.parent,
		unreached: w.state.unreached, links: map[world.Link]link{},
	}
	c.Clients.Self, c.Links = w.options.Self, c
	c.Called = map[string]string{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if err := c.Claim(s, nodesMax, "docker"); err != nil {
		return nil, err
	}
	if s.Service == nil {
		return c, nil
	}
	c.api, c.image = c.docker.Client(), w.state.images[s.Service.Name].Name
	// A program of the user gets no words.
	if first := s.Service.Needs.Programs[0]; filepath.Base(cmp.Or(w.options.Programs[s.Service.Name], first.Name)) == first.Name {
		c.words = first.Words
	}
	if c.owner, err = claimOwner(); err != nil {
		return nil, err
	}
	if sweep := w.options.Sweep; len(sweep) > 0 {
		c.after, err = process.StartCleaner("containers", append(slices.Clone(sweep), c.owner.name)...)
		if err != nil {
			return nil, err
		}
	}
	if c.subnet, err = createNetwork(ctx, c.api, c.owner); err != nil {
		return nil, err
	}
	// Containers use their own addresses for each other.
	ports := map[string][]netip.AddrPort{}
	c.Peers = map[string]map[string][]netip.AddrPort{}
	for k, n := range c.Nodes() {
		for i := range c.Ports() {
			ports[n.Name] = append(ports[n.Name], cluster.After(netip.AddrPortFrom(c.subnet.node(k), serverPort), i))
		}
		c.Peers[n.Name] = ports
	}
	for k, n := range c.Nodes() {
		if err := c.addNode(n, k); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// start starts all servers and returns when the cluster is healthy.
func (c *Cluster) start(ctx context.Context) error {
	if len(c.nodes) == 0 {
		return nil
	}
	if err := service.Each(c.nodes, func(n *node) error { return n.boot(ctx) }); err != nil {
		return err
	}
	if err := c.makeSeed(ctx); err != nil {
		return err
	}
	if err := c.Launch(ctx); err != nil {
		return err
	}
	c.direct.Store(c.reachedDirectly(ctx, c.nodes[0]))
	for _, n := range c.nodes {
		if err := c.Proxy.AddNode(proxy.Node{Name: n.Name, Real: n.addr()}); err != nil {
			return err
		}
	}
	if err := c.AddLeader(netip.AddrPort{}); err != nil {
		return err
	}
	if err := c.Form(ctx); err != nil {
		return err
	}
	for _, n := range c.nodes {
		n.settle()
	}
	return nil
}

// reachedDirectly reports whether this machine reaches a container at its own address. Behind a tunnel another
// machine may have the same address, so it checks which server answers.
func (c *Cluster) reachedDirectly(ctx context.Context, n *node) bool {
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	published, err := c.Identity(limited, n.published)
	if err != nil {
		return false
	}
	own, err := c.Identity(limited, n.announced)
	return err == nil && own != "" && own == published
}

// stop ends the cluster in any state.
func (c *Cluster) stop() error {
	err := c.Stop(stopLimit, c.stopNetwork)
	if c.owner != nil {
		c.owner.release()
	}
	c.after.Dismiss()
	if err != nil {
		return fmt.Errorf("end the cluster of containers: %w", explain(err))
	}
	return nil
}

// stopNetwork removes the network of the containers after their end.
func (c *Cluster) stopNetwork(ctx context.Context) error {
	if c.subnet.id == "" {
		return nil
	}
	err := removeNetwork(ctx, c.api, c.subnet.id)
	if errors.Is(err, errMiscounted) {
		// The recorded history is still valid.
		c.say(fmt.Sprintf("%s: %v", c.subnet.name, err))
		return nil
	}
	return err
}

// node returns a node, which the cluster must have.
func (c *Cluster) node(name string) *node {
	return c.nodes[slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })]
}

const (
	// startLimit bounds the start of a cluster and of a node, which takes long on a busy machine.
	startLimit = 3 * time.Minute
	// stopLimit bounds the end of a cluster.
	stopLimit = 2 * time.Minute
)
