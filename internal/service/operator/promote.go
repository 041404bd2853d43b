package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"lockbench/internal/service"
)

// Promote makes a replica the leader; by default the one that has received most.
func (o *Operator) Promote(ctx context.Context, node string) (string, error) {
	if !o.Topology().Follows() {
		return "", fmt.Errorf("promote a replica: the topology %s has none", o.Topology().Name)
	}
	if node == o.Lead() {
		return "", fmt.Errorf("promote %s: it is the leader already", node)
	}
	now, err := o.replace(ctx, o.Lead(), node)
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return now, nil
}

// replace makes another node the leader instead of old.
func (o *Operator) replace(ctx context.Context, old, node string) (string, error) {
	o.turn.Lock()
	defer o.turn.Unlock()
	if o.Lead() != old {
		return o.Lead(), nil // promoted meanwhile
	}
	ctx, cancel := context.WithTimeout(ctx, promoteLimit)
	defer cancel()
	if node == "" {
		var err error
		if node, err = o.furthest(ctx, old); err != nil {
			return "", err
		}
	}
	if err := o.db.Promote(ctx, node); err != nil {
		return "", err
	}
	o.mu.Lock()
	o.lead, o.stale[old], o.stale[node] = node, true, false
	o.mu.Unlock()
	if err := o.Host.Follow(node, netip.AddrPort{}); err != nil {
		return "", err
	}
	if o.Topology().Entry == "" {
		if err := o.Host.Lead(node); err != nil {
			return "", err
		}
	}
	// Nodes that do not answer now are pointed to the leader, or renewed, when they are reachable.
	for _, name := range o.Others(node) {
		if name == old {
			_ = o.Host.Follow(name, o.Host.AddrFor(name, node, 0))
			continue
		}
		_ = o.point(ctx, name, node)
	}
	return node, nil
}

// furthest returns the reachable replica that has received most.
func (o *Operator) furthest(ctx context.Context, old string) (string, error) {
	candidates := slices.DeleteFunc(o.Nodes(), func(n service.Node) bool { return n.Name == old })
	all, err := service.AskAll(ctx, candidates, o.db.State)
	best := ""
	for _, n := range candidates {
		s, answers := all[n.Name]
		if answers && !s.Leads && !o.isStale(n.Name) && o.reached(ctx, n.Name) && (best == "" || s.Received > all[best].Received) {
			best = n.Name
		}
	}
	if best == "" {
		return "", errors.Join(errors.New("no replica answers"), err)
	}
	return best, nil
}
