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

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
)

// backend is the machines of a cluster: containers.
type backend struct {
	cluster cluster.Cluster

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

	direct atomic.Bool // this machine reaches containers at their own addresses
}

// newBackend claims the resources of a cluster and starts nothing yet.
func (w *World) newBackend(ctx context.Context, s world.Spec) (_ *backend, err error) {
	b := &backend{say: w.options.Say, docker: w.state.provider, parent: w.state.parent}
	c := &b.cluster
	c.Clients.Self, c.Called = w.options.Self, map[string]string{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	if err := c.Claim(s, nodesMax, "docker"); err != nil {
		return nil, err
	}
	if s.Service == nil {
		return b, nil
	}
	b.api, b.image = b.docker.Client(), w.state.images[s.Service.Name].Name
	// A program of the user gets no words.
	if first := s.Service.Needs.Programs[0]; filepath.Base(cmp.Or(w.options.Programs[s.Service.Name], first.Name)) == first.Name {
		b.words = first.Words
	}
	if b.owner, err = claimOwner(); err != nil {
		return nil, err
	}
	if sweep := w.options.Sweep; len(sweep) > 0 {
		b.after, err = process.StartCleaner("containers", append(slices.Clone(sweep), b.owner.name)...)
		if err != nil {
			return nil, err
		}
	}
	if b.subnet, err = createNetwork(ctx, b.api, b.owner); err != nil {
		return nil, err
	}
	// Containers use their own addresses for each other.
	ports := map[string][]netip.AddrPort{}
	c.Machines.Peers = map[string]map[string][]netip.AddrPort{}
	for k, n := range c.Nodes() {
		for i := range c.Machines.Ports() {
			ports[n.Name] = append(ports[n.Name], cluster.After(netip.AddrPortFrom(b.subnet.node(k), serverPort), i))
		}
		c.Machines.Peers[n.Name] = ports
	}
	for k, n := range c.Nodes() {
		if err := b.addNode(n, k); err != nil {
			return nil, err
		}
	}
	c.Links = newLinks(b.nodes, c.Net, b.subnet.gateway(), c.Machines.Ports(), w.state.unreached)
	return b, nil
}

// start starts all servers and returns when the cluster is healthy.
func (b *backend) start(ctx context.Context) error {
	if len(b.nodes) == 0 {
		return nil
	}
	if err := service.Each(b.nodes, func(n *node) error { return n.boot(ctx) }); err != nil {
		return err
	}
	if err := b.makeSeed(ctx); err != nil {
		return err
	}
	if err := b.cluster.Machines.Launch(ctx); err != nil {
		return err
	}
	b.direct.Store(b.reachedDirectly(ctx, b.nodes[0]))
	for _, n := range b.nodes {
		if err := b.cluster.Net.AddNode(proxy.Node{Name: n.Name, Real: n.addr()}); err != nil {
			return err
		}
	}
	if err := b.cluster.AddLeader(netip.AddrPort{}); err != nil {
		return err
	}
	if err := b.cluster.Form(ctx); err != nil {
		return err
	}
	for _, n := range b.nodes {
		n.disk.Settle()
	}
	return nil
}

// reachedDirectly reports whether this machine reaches a container at its own address. Behind a tunnel another
// machine may have the same address, so it checks which server answers.
func (b *backend) reachedDirectly(ctx context.Context, n *node) bool {
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	published, err := b.cluster.Machines.Identity(limited, n.published)
	if err != nil {
		return false
	}
	own, err := b.cluster.Machines.Identity(limited, n.announced)
	return err == nil && own != "" && own == published
}

// tryRelay returns why containers do not reach the proxy, or nil: a firewall may prevent it, and the daemon may run
// elsewhere.
func (b *backend) tryRelay(ctx context.Context) error {
	n := b.nodes[0]
	relay, err := b.cluster.Net.AddListener(n.Name, n.Name, netip.AddrPortFrom(b.subnet.gateway(), 0), n.addr())
	if err != nil {
		return fmt.Errorf("listen where containers could reach this machine: %w", err)
	}
	if err := n.pingFromInside(ctx, relay); err != nil {
		return fmt.Errorf("containers do not get through to this machine at %s, perhaps for its firewall (%w)", b.subnet.gateway(), err)
	}
	return nil
}

// stop ends the cluster in any state.
func (b *backend) stop() error {
	err := b.cluster.Stop(stopLimit, b.stopNetwork)
	if b.owner != nil {
		b.owner.release()
	}
	b.after.Dismiss()
	if err != nil {
		return fmt.Errorf("end the cluster of containers: %w", explain(err))
	}
	return nil
}

// stopNetwork removes the network of the containers after their end.
func (b *backend) stopNetwork(ctx context.Context) error {
	if b.subnet.id == "" {
		return nil
	}
	err := removeNetwork(ctx, b.api, b.subnet.id)
	if errors.Is(err, errMiscounted) {
		// The recorded history is still valid.
		b.say(fmt.Sprintf("%s: %v", b.subnet.name, err))
		return nil
	}
	return err
}

const (
	// startLimit bounds the start of a cluster and of a node, which takes long on a busy machine.
	startLimit = 3 * time.Minute
	// stopLimit bounds the end of a cluster.
	stopLimit = 2 * time.Minute
)
