//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// SetLinks cuts links between servers by hooks, and ends that. A link that is slow enough is cut, too.
func (b *backend) SetLinks(_ context.Context, links []world.Link, s world.LinkState) error {
	switch {
	case s.Cut || s.Delay.By >= lagCuts:
		return b.cutLinks(links)
	case s.Delay.By > 0:
		return b.reach.o.limits(b.cluster.Topology())(world.Action{Kind: world.Lagging, By: s.Delay.By})
	}
	return b.join(links)
}

func (b *backend) cutLinks(links []world.Link) error {
	b.mark(links, true)
	if b.cluster.Topology().Leads == service.EachLeads {
		return nil // these do not talk to each other
	}
	if b.hooks.hooks.has(hookCut) {
		return service.Each(links, func(l world.Link) error { return b.hooks.do(hookCut, b.hooks.link(l)) })
	}
	off := b.cutOff()
	for _, l := range links {
		if !slices.Contains(off, l.From) && !slices.Contains(off, l.To) {
			return fmt.Errorf("cut %s alone: %w; the hook isolate cuts a node off from all other servers", l, noHook(hookCut))
		}
	}
	return b.isolate(off)
}

// join ends cuts.
func (b *backend) join(links []world.Link) error {
	if b.cluster.Topology().Leads != service.EachLeads && b.hooks.hooks.has(hookCut) {
		if err := service.Each(links, func(l world.Link) error { return b.hooks.undo(hookCut, b.hooks.link(l)) }); err != nil {
			return err
		}
		b.mark(links, false)
		return nil
	}
	b.mark(links, false)
	return b.isolate(b.cutOff())
}

// isolate cuts these nodes off from all others by hooks, and no other node.
func (b *backend) isolate(off []string) error {
	return service.Each(b.nodes, func(n *node) error {
		is := slices.Contains(off, n.Name)
		b.mu.Lock()
		was := b.isolated[n.Name]
		b.isolated[n.Name] = is
		b.mu.Unlock()
		switch {
		case is && !was:
			return b.hooks.do(hookIsolate, b.hooks.node(n.Name))
		case was && !is:
			return b.hooks.undo(hookIsolate, b.hooks.node(n.Name))
		}
		return nil
	})
}

func (b *backend) mark(links []world.Link, cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range links {
		if cut {
			b.cut[l] = true
		} else {
			delete(b.cut, l)
		}
	}
}

// cutOff returns the nodes with all links to other servers cut in both directions, unless two groups are
// cut off from each other.
func (b *backend) cutOff() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var off []string
	for _, n := range b.nodes {
		all := true
		for _, other := range b.nodes {
			all = all && (n == other || b.cut[world.Link{From: n.Name, To: other.Name}] && b.cut[world.Link{From: other.Name, To: n.Name}])
		}
		if all {
			off = append(off, n.Name)
		}
	}
	return off
}

// Ping relies on the hooks.
func (b *backend) Ping(ctx context.Context, from, to string) error {
	b.mu.Lock()
	cut := b.cut[world.Link{From: from, To: to}] || b.cut[world.Link{From: to, To: from}]
	b.mu.Unlock()
	if cut {
		return errors.New("hooks have cut them off from each other")
	}
	return b.servers.Answers(ctx, to)
}
