//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
)

var _ cluster.Links = (*links)(nil)

// links are the links between servers, which hooks cut.
type links struct {
	hooks    *runner
	servers  service.ExternalServers
	topology service.Topology
	nodes    []*node
	lacks    func(world.Action) error // as [Options.limits]

	mu       sync.Mutex
	cut      map[world.Link]bool
	isolated map[string]bool // nodes that a hook has cut off
}

func newLinks(b *backend) *links {
	t := b.cluster.Topology()
	return &links{
		hooks: b.hooks, servers: b.servers, topology: t, nodes: b.nodes, lacks: b.reach.o.limits(t),
		cut: map[world.Link]bool{}, isolated: map[string]bool{},
	}
}

// SetLinks cuts links between servers by hooks, and ends that. A link that is slow enough is cut, too.
func (l *links) SetLinks(_ context.Context, all []world.Link, s world.LinkState) error {
	switch {
	case s.Cut || s.Delay.By >= lagCuts:
		return l.cutLinks(all)
	case s.Delay.By > 0:
		return l.lacks(world.Action{Kind: world.Lagging, By: s.Delay.By})
	}
	return l.join(all)
}

func (l *links) cutLinks(all []world.Link) error {
	l.mark(all, true)
	if l.topology.Leads == service.EachLeads {
		return nil // these do not talk to each other
	}
	if l.hooks.hooks.has(hookCut) {
		return service.Each(all, func(at world.Link) error { return l.hooks.do(hookCut, l.hooks.link(at)) })
	}
	off := l.cutOff()
	for _, at := range all {
		if !slices.Contains(off, at.From) && !slices.Contains(off, at.To) {
			return fmt.Errorf("cut %s alone: %w; the hook isolate cuts a node off from all other servers", at, noHook(hookCut))
		}
	}
	return l.isolate(off)
}

// join ends cuts.
func (l *links) join(all []world.Link) error {
	if l.topology.Leads != service.EachLeads && l.hooks.hooks.has(hookCut) {
		if err := service.Each(all, func(at world.Link) error { return l.hooks.undo(hookCut, l.hooks.link(at)) }); err != nil {
			return err
		}
		l.mark(all, false)
		return nil
	}
	l.mark(all, false)
	return l.isolate(l.cutOff())
}

// isolate cuts these nodes off from all others by hooks, and no other node.
func (l *links) isolate(off []string) error {
	return service.Each(l.nodes, func(n *node) error {
		is := slices.Contains(off, n.Name)
		l.mu.Lock()
		was := l.isolated[n.Name]
		l.isolated[n.Name] = is
		l.mu.Unlock()
		switch {
		case is && !was:
			return l.hooks.do(hookIsolate, l.hooks.node(n.Name))
		case was && !is:
			return l.hooks.undo(hookIsolate, l.hooks.node(n.Name))
		}
		return nil
	})
}

func (l *links) mark(all []world.Link, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range all {
		if cut {
			l.cut[at] = true
		} else {
			delete(l.cut, at)
		}
	}
}

// cutOff returns the nodes with all links to other servers cut in both directions, unless two groups are
// cut off from each other.
func (l *links) cutOff() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var off []string
	for _, n := range l.nodes {
		all := true
		for _, other := range l.nodes {
			all = all && (n == other || l.cut[world.Link{From: n.Name, To: other.Name}] && l.cut[world.Link{From: other.Name, To: n.Name}])
		}
		if all {
			off = append(off, n.Name)
		}
	}
	return off
}

// Ping relies on the hooks.
func (l *links) Ping(ctx context.Context, from, to string) error {
	l.mu.Lock()
	cut := l.cut[world.Link{From: from, To: to}] || l.cut[world.Link{From: to, To: from}]
	l.mu.Unlock()
	if cut {
		return errors.New("hooks have cut them off from each other")
	}
	return l.servers.Answers(ctx, to)
}
