//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
)

// startLimit bounds how long a node may take to answer after its start hook.
const startLimit = 2 * time.Minute

// reach is a host whose servers can be dialled, and nothing else.
type reach struct {
	world.Nowhere
	o    Options
	site service.Site
}

var errNotOurs = errors.New("the server is external")

// Status returns that the server runs, which only the server can know.
func (reach) Status(string) service.Status { return service.Status{Running: true} }

// Dial connects to a server.
func (r reach) Dial(ctx context.Context, node string) (net.Conn, error) {
	i := slices.IndexFunc(r.site.Topology.Nodes(), func(n service.Node) bool { return n.Name == node })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q", node)
	}
	return r.o.dial(ctx, r.site.Topology.Nodes()[i].Role, r.site.Addrs[node])
}

// backend is the servers, as hooks and questions change them.
type backend struct {
	cluster cluster.Cluster
	reach   reach                   // zero without servers
	servers service.ExternalServers // zero without servers
	hooks   *runner
	nodes   []*node
	keys    bool // keys of this run may exist
}

func (w *World) newBackend(s world.Spec) (_ *backend, err error) {
	b := &backend{hooks: &runner{log: &process.Log{}}}
	c := &b.cluster
	c.Clients.Self, c.Clients.Mask = w.options.Self, w.mask
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	if s.Service != nil {
		b.reach = reach{o: w.options, site: w.there()}
		c.DialNode, c.Called, c.Clients.Prefix = b.reach.Dial, b.reach.site.Called, Prefix(s.Seed)
	}
	if err := c.Claim(s, nodesMax, Name); err != nil || s.Service == nil {
		return b, err
	}
	b.servers = c.Servers.(service.ExternalServers)
	if w.options.Hooks.has(hookPromote) {
		c.Servers = promotable{b.servers, b.promote}
	}
	log, err := process.OpenLog(s.LogDir, "hooks")
	if err != nil {
		return b, err
	}
	b.hooks = newRunner(w.options, w.mask, b.reach.site, log, c.Dir.Path, s.LogDir)
	for _, n := range c.Nodes() {
		if err := c.Net.AddNode(proxy.Node{Name: n.Name}); err != nil {
			return b, err
		}
		node := &node{Node: n, backend: b}
		b.nodes = append(b.nodes, node)
		c.Machines.Add(n, node, nil)
		c.Log.Line(fmt.Sprintf("%s is %s, which hooks know as %s", n.Name, b.reach.site.Addrs[n.Name], w.options.Hooks.called(n.Name, b.reach.site)))
	}
	c.Links = newLinks(b)
	return b, nil
}

// begin returns when the servers are healthy and have no keys with the prefix.
func (b *backend) begin(ctx context.Context) error {
	if len(b.nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, healthLimit, fmt.Errorf("the servers were not healthy for %v", healthLimit))
	defer cancel()
	if err := b.cluster.Form(ctx); err != nil {
		return err
	}
	if err := alone(ctx, b.servers); err != nil {
		return err
	}
	b.keys = true
	b.cluster.Strays = straysOf(ctx, b.servers, b.cluster.Clients.Prefix)
	if makeRoom := b.servers.MakeRoom; makeRoom != nil {
		return makeRoom(ctx)
	}
	return nil
}

// stop undoes what hooks have done, ends the clients, and removes the keys.
func (b *backend) stop() error {
	undone := b.hooks.undoAll()
	defer b.hooks.release()
	err := b.cluster.Stop(stopLimit, b.clean)
	b.hooks.log.Close()
	if err = errors.Join(undone, err); err != nil {
		return fmt.Errorf("leave the servers as they were: %w", err)
	}
	return nil
}

// clean removes the keys after the clients have ended.
func (b *backend) clean(ctx context.Context) error {
	if !b.keys {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeoutCause(ctx, healthLimit, fmt.Errorf("not done within %v", healthLimit))
	defer cancel()
	// A master that is down has keys that would come back with it.
	err := service.AwaitHealthy(limited, b.servers)
	_, cleared := b.servers.Clear(ctx)
	if err = errors.Join(err, cleared); err != nil {
		return fmt.Errorf("keys of this run may be left at the servers: %w; by hand: %s", err, b.servers.ByHand(b.cluster.Clients.Prefix))
	}
	return nil
}

// promote runs the hook and returns when the servers report the new leader.
func (b *backend) promote(ctx context.Context, node string) (string, error) {
	before := b.servers.Leaders(ctx)
	if node == "" {
		follow := slices.DeleteFunc(b.servers.Nodes(), func(n service.Node) bool { return n.Role != service.Data || slices.Contains(before, n.Name) })
		if len(follow) == 0 {
			return "", errors.New("promote a node: there is none that follows")
		}
		node = follow[0].Name
	}
	if err := b.hooks.run(hookPromote, b.hooks.node(node)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not seen within %v", startLimit))
	defer cancel()
	return node, service.Poll(ctx, func() error {
		if slices.Contains(b.servers.Leaders(ctx), node) {
			return nil
		}
		return fmt.Errorf("the hook promote is done, and %s does not lead", node)
	})
}
