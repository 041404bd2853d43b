//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"lockbench/internal/world"
	"lockbench/service"
)

// split tells links between servers from those with a client at one end. Servers that do not
// talk to each other have none.
func (c *Cluster) split(all []world.Link) (between, clients []world.Link) {
	for _, l := range all {
		switch {
		case !c.isNode(l.From) || !c.isNode(l.To):
			clients = append(clients, l)
		default:
			between = append(between, l)
		}
	}
	return between, clients
}

func (c *Cluster) isNode(name string) bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool { return n.Name == name })
}

// Cut holds what travels on links of clients, and lets hooks cut those between servers.
func (c *Cluster) Cut(_ context.Context, all []world.Link) error {
	between, clients := c.split(all)
	if err := c.Proxy.Cut(clients); err != nil {
		return err
	}
	return c.cutBetween(between)
}

// Join ends Cut.
func (c *Cluster) Join(_ context.Context, all []world.Link) error {
	between, clients := c.split(all)
	return errors.Join(c.Proxy.Join(clients), c.joinBetween(between))
}

func (c *Cluster) cutBetween(links []world.Link) error {
	c.mark(links, true)
	if c.Topology().Leads == service.EachLeads {
		return nil // these do not talk to each other
	}
	if c.hooks.hooks.has(hookCut) {
		return service.Each(links, func(l world.Link) error { return c.hooks.owe(hookCut, c.hooks.link(l)) })
	}
	off := c.cutOff()
	left := slices.DeleteFunc(slices.Clone(links), func(l world.Link) bool { return slices.Contains(off, l.From) || slices.Contains(off, l.To) })
	if len(left) > 0 {
		return fmt.Errorf("cut %s alone: there is no hook cut, and isolate cuts a node off from all other servers", left[0])
	}
	return service.Each(off, func(name string) error {
		if c.wasIsolated(name, true) {
			return nil
		}
		return c.hooks.owe(hookIsolate, c.hooks.node(name))
	})
}

func (c *Cluster) joinBetween(links []world.Link) error {
	if c.Topology().Leads == service.EachLeads {
		c.mark(links, false)
		return nil
	}
	if c.hooks.hooks.has(hookCut) {
		err := service.Each(links, func(l world.Link) error { return c.hooks.pay(hookCut, c.hooks.link(l)) })
		if err == nil {
			c.mark(links, false)
		}
		return err
	}
	c.mark(links, false)
	off := c.cutOff()
	return service.Each(c.nodes, func(n *node) error {
		if slices.Contains(off, n.Name) || !c.wasIsolated(n.Name, false) {
			return nil
		}
		return c.hooks.pay(hookIsolate, c.hooks.node(n.Name))
	})
}

func (c *Cluster) mark(links []world.Link, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range links {
		if cut {
			c.cut[l] = true
		} else {
			delete(c.cut, l)
		}
	}
}

// wasIsolated says whether a node was cut off by a hook, and notes whether it is now.
func (c *Cluster) wasIsolated(name string, is bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.isolated[name]
	c.isolated[name] = is
	return was
}

// cutOff are the nodes of which all links to other servers are cut, both ways. Where two sides
// are cut off from each other no node is.
func (c *Cluster) cutOff() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var off []string
	for _, n := range c.nodes {
		all := true
		for _, other := range c.nodes {
			all = all && (n == other || c.cut[world.Link{From: n.Name, To: other.Name}] && c.cut[world.Link{From: other.Name, To: n.Name}])
		}
		if all {
			off = append(off, n.Name)
		}
	}
	return off
}

// Shape delays what travels on links of clients.
func (c *Cluster) Shape(_ context.Context, all []world.Link, d world.Delay) error {
	between, clients := c.split(all)
	if len(clients) > 0 {
		if err := c.Proxy.Delay(clients, d.By, d.Jitter); err != nil {
			return err
		}
	}
	if len(between) > 0 && d.By < lagCuts {
		return c.Lacks(world.Action{Kind: world.Lagging, By: d.By})
	}
	return c.cutBetween(between)
}

// Unshape ends Shape.
func (c *Cluster) Unshape(_ context.Context, all []world.Link) error {
	between, clients := c.split(all)
	return errors.Join(c.Proxy.Undelay(clients), c.joinBetween(between))
}

// BandwidthReady is nil: the proxy is on every way of a client's.
func (c *Cluster) BandwidthReady() error { return nil }

// Throttle makes links of clients narrow, each connection by itself.
func (c *Cluster) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	return c.Proxy.Throttle(links, bytesPerSecond)
}

// Unthrottle ends Throttle.
func (c *Cluster) Unthrottle(_ context.Context, links []world.Link) error {
	return c.Proxy.Unthrottle(links)
}

// Ping asks a node for a sign of life on the path that from's own connections take. That of a
// server is not seen from here: what hooks have done to it is believed.
func (c *Cluster) Ping(ctx context.Context, from, to string) error {
	return c.PingBulk(ctx, from, to, 0)
}

// PingBulk is Ping with something to carry.
func (c *Cluster) PingBulk(ctx context.Context, from, to string, bytes int) error {
	if c.isNode(from) {
		c.mu.Lock()
		cut := c.cut[world.Link{From: from, To: to}] || c.cut[world.Link{From: to, To: from}]
		c.mu.Unlock()
		if cut {
			return fmt.Errorf("ping %s from %s: hooks have cut them off from each other", to, from)
		}
		return c.foreign().Answers(ctx, to)
	}
	at, err := c.ListenFor(from, to)
	if err != nil {
		return fmt.Errorf("ping %s: %w", to, err)
	}
	return c.Greet(ctx, from, to, bytes, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	})
}
