//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/world"
	"lockbench/service"
)

// Cut holds links of clients, and cuts those between servers by hooks.
func (c *Cluster) Cut(ctx context.Context, all []world.Link) error {
	between, clients := c.Split(all)
	if err := c.Proxy.Cut(ctx, clients); err != nil {
		return err
	}
	return c.cutBetween(between)
}

// Join ends Cut.
func (c *Cluster) Join(ctx context.Context, all []world.Link) error {
	between, clients := c.Split(all)
	return errors.Join(c.Proxy.Join(ctx, clients), c.joinBetween(between))
}

func (c *Cluster) cutBetween(links []world.Link) error {
	c.mark(links, true)
	if c.Topology().Leads == service.EachLeads {
		return nil // these do not talk to each other
	}
	if c.hooks.hooks.has(hookCut) {
		return service.Each(links, func(l world.Link) error { return c.hooks.do(hookCut, c.hooks.link(l)) })
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
		return c.hooks.do(hookIsolate, c.hooks.node(name))
	})
}

func (c *Cluster) joinBetween(links []world.Link) error {
	if c.Topology().Leads == service.EachLeads {
		c.mark(links, false)
		return nil
	}
	if c.hooks.hooks.has(hookCut) {
		err := service.Each(links, func(l world.Link) error { return c.hooks.undo(hookCut, c.hooks.link(l)) })
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
		return c.hooks.undo(hookIsolate, c.hooks.node(n.Name))
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

// wasIsolated returns whether a node was cut off by a hook, and sets whether it is now.
func (c *Cluster) wasIsolated(name string, is bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.isolated[name]
	c.isolated[name] = is
	return was
}

// cutOff returns the nodes with all links to other servers cut in both directions, unless two groups are
// cut off from each other.
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

// Shape delays links of clients.
func (c *Cluster) Shape(ctx context.Context, all []world.Link, d world.Delay) error {
	between, clients := c.Split(all)
	if err := c.Proxy.Shape(ctx, clients, d); err != nil {
		return err
	}
	if len(between) > 0 && d.By < lagCuts {
		return c.reach.o.limits(c.Topology())(world.Action{Kind: world.Lagging, By: d.By})
	}
	return c.cutBetween(between)
}

// Unshape ends Shape.
func (c *Cluster) Unshape(ctx context.Context, all []world.Link) error {
	between, clients := c.Split(all)
	return errors.Join(c.Proxy.Unshape(ctx, clients), c.joinBetween(between))
}

// Ping pings a node on the path of from's connections. Between servers it relies on the hooks.
func (c *Cluster) Ping(ctx context.Context, from, to string, load int) error {
	if slices.ContainsFunc(c.nodes, func(n *node) bool { return n.Name == from }) {
		c.mu.Lock()
		cut := c.cut[world.Link{From: from, To: to}] || c.cut[world.Link{From: to, To: from}]
		c.mu.Unlock()
		if cut {
			return fmt.Errorf("ping %s from %s: hooks have cut them off from each other", to, from)
		}
		return c.servers().Answers(ctx, to)
	}
	return c.PingFor(ctx, from, to, load)
}

// ShiftClock always fails.
func (c *Cluster) ShiftClock(context.Context, string, time.Duration, float64) error { return errClocks }
