//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
	"lockbench/service"
)

var _ world.Cluster = (*Cluster)(nil)

// startLimit bounds how long a node may take to answer after its start hook.
const startLimit = 2 * time.Minute

// reach is a host whose servers can be dialled, and nothing else.
type reach struct {
	o    Options
	site service.Site
}

var errNotOurs = errors.New("the server is external")

func (reach) Addr(string) netip.AddrPort                 { return netip.AddrPort{} }
func (reach) AddrFor(string, string, int) netip.AddrPort { return netip.AddrPort{} }
func (reach) Status(string) service.Status               { return service.Status{Running: true} }
func (reach) Follow(string, netip.AddrPort) error        { return errNotOurs }
func (reach) Lead(string) error                          { return errNotOurs }
func (reach) Settings() map[string]string                { return nil }
func (reach) Renew(context.Context, string) error        { return errNotOurs }
func (reach) Reaches(context.Context, string, string) error {
	return errNotOurs
}
func (r reach) Dial(ctx context.Context, node string) (net.Conn, error) {
	i := slices.IndexFunc(r.site.Topology.Nodes(), func(n service.Node) bool { return n.Name == node })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q", node)
	}
	return r.o.dial(ctx, r.site.Topology.Nodes()[i].Role, r.site.Addrs[node])
}

// Cluster is the servers, and the clients of one lock.
type Cluster struct {
	cluster.Cluster
	reach reach // zero without servers
	hooks *runner
	nodes []*node
	keys  bool // keys of this run may exist

	mu       sync.Mutex
	cut      map[world.Link]bool // links between servers that are cut
	isolated map[string]bool     // nodes that a hook has cut off
}

func (w *World) newCluster(s world.Spec) (_ *Cluster, err error) {
	c := &Cluster{cut: map[world.Link]bool{}, isolated: map[string]bool{}}
	c.Clients.Self, c.Clients.Net = w.options.Self, c
	c.Probe = c.Ping
	c.hooks = &runner{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if t, ok := s.Service.(tenancy); ok {
		c.reach = reach{w.options, t.site}
		c.DialNode = c.reach.Dial
	}
	if err := c.Claim(s, nodesMax, "lockbench-external-"); err != nil || s.Service == nil {
		return c, err
	}
	log, err := process.OpenLog(s.LogDir, "hooks")
	if err != nil {
		return c, err
	}
	c.hooks = newRunner(w.options, c.reach.site, log, c.Dir.Path, s.LogDir)
	for _, n := range c.Nodes() {
		if err := c.Proxy.AddNode(proxy.Node{Name: n.Name}); err != nil {
			return c, err
		}
		node := &node{Node: n, cluster: c}
		c.nodes = append(c.nodes, node)
		c.Add(n, node, nil)
		c.Network.Line(fmt.Sprintf("%s is %s, which hooks know as %s", n.Name, c.reach.site.Addrs[n.Name], w.options.Hooks.called(n.Name, c.reach.site)))
	}
	return c, nil
}

// begin returns when the servers are healthy and have no keys with the prefix.
func (c *Cluster) begin(ctx context.Context) error {
	if len(c.nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthLimit, fmt.Errorf("the servers were not healthy for %v", healthLimit))
	defer cancel()
	if err := c.Form(ctx); err != nil {
		return err
	}
	if err := alone(ctx, c.servers()); err != nil {
		return err
	}
	c.keys = true
	if makeRoom := c.servers().MakeRoom; makeRoom != nil {
		return makeRoom(ctx)
	}
	return nil
}

func (c *Cluster) servers() service.ExternalServers { return c.Group.(service.ExternalServers) }

// stop undoes what hooks have done, ends the clients, and removes the keys.
func (c *Cluster) stop() error {
	undone := c.hooks.undoAll()
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	err := c.Stop(ctx, c.clean)
	c.hooks.close()
	if err = errors.Join(undone, err); err != nil {
		return fmt.Errorf("leave the servers as they were: %w", err)
	}
	return nil
}

// clean removes the keys after the clients have ended.
func (c *Cluster) clean() error {
	if !c.keys {
		return nil
	}
	prefix := Prefix(c.Spec.Seed)
	ctx, cancel := context.WithTimeoutCause(context.Background(), healthLimit, fmt.Errorf("not done within %v", healthLimit))
	defer cancel()
	// A master that is down has keys that would come back with it.
	err := service.AwaitHealthy(ctx, c)
	_, cleared := c.servers().Clear(context.WithoutCancel(ctx))
	if err = errors.Join(err, cleared); err != nil {
		return fmt.Errorf("keys of this run may be left at the servers: %w; by hand: %s", err, c.servers().ByHand(prefix))
	}
	return nil
}

// Open starts a client with the key prefix of the run.
func (c *Cluster) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	s.KeyPrefix = c.KeyPrefix()
	return c.Cluster.Open(ctx, s)
}

// KeyPrefix returns the prefix of the run; empty without servers.
func (c *Cluster) KeyPrefix() string {
	if len(c.nodes) == 0 {
		return ""
	}
	return Prefix(c.Spec.Seed)
}

// Store returns addresses that only this guest uses.
func (c *Cluster) Store(name string, hello guest.Hello) (guest.StoreAddresses, error) {
	return c.StoreForClient(name, hello, c.reach.site.Called)
}

// Abilities returns those of the servers, and Promote if there is a hook for it.
func (c *Cluster) Abilities() service.Abilities {
	a := c.Cluster.Abilities()
	if len(c.nodes) > 0 && c.reach.o.Hooks.has(hookPromote) {
		a.Promote = c.promote
	}
	return a
}

// promote runs the hook and returns when the servers report the new leader.
func (c *Cluster) promote(ctx context.Context, node string) (string, error) {
	before := c.Leaders(ctx)
	if node == "" {
		follow := slices.DeleteFunc(c.Nodes(), func(n service.Node) bool { return n.Role != service.Data || slices.Contains(before, n.Name) })
		if len(follow) == 0 {
			return "", errors.New("promote a node: there is none that follows")
		}
		node = follow[0].Name
	}
	if err := c.hooks.run(hookPromote, c.hooks.node(node)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not seen within %v", startLimit))
	defer cancel()
	return node, service.Poll(ctx, func() error {
		if slices.Contains(c.Leaders(ctx), node) {
			return nil
		}
		return fmt.Errorf("the hook promote is done, and %s does not lead", node)
	})
}
