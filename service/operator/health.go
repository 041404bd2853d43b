package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lockbench/service"
)

// Leaders returns all nodes that take themselves for the leader.
func (o *Operator) Leaders(ctx context.Context) []string {
	all, _ := service.AskAll(ctx, o.Nodes(), o.db.State)
	return o.leading(all)
}

// leading returns the nodes that lead, in the order of the nodes.
func (o *Operator) leading(all map[string]State) []string {
	var names []string
	for _, n := range o.Nodes() {
		if all[n.Name].Leads {
			names = append(names, n.Name)
		}
	}
	return names
}

// Offsets returns how much each node has written or received.
func (o *Operator) Offsets(ctx context.Context) map[string]int64 {
	all, _ := service.AskAll(ctx, o.Nodes(), o.db.State)
	offsets := map[string]int64{}
	for name, s := range all {
		offsets[name] = s.Received
	}
	return offsets
}

// Healthy returns the first defect: there must be one leader, at the address for clients, and all
// others must follow it.
func (o *Operator) Healthy(ctx context.Context) error {
	all, err := service.AskAll(ctx, o.Nodes(), o.db.State)
	if err != nil {
		return err
	}
	lead, leaders := o.Lead(), o.leading(all)
	if !slices.Equal(leaders, []string{lead}) {
		return fmt.Errorf("there must be one leader, %s, and not %d: %s", lead, len(leaders), strings.Join(leaders, ", "))
	}
	for _, name := range o.others(lead) {
		if err := o.follows(name, all[name], lead); err != nil {
			return err
		}
	}
	return nil
}

// follows returns why a node does not follow a leader.
func (o *Operator) follows(name string, s State, lead string) error {
	at := o.Host.AddrFor(name, lead, 0)
	o.mu.Lock()
	stale := o.stale[name]
	o.mu.Unlock()
	switch {
	case stale:
		return fmt.Errorf("%s has the data of one that has led", name)
	case s.Broken != nil:
		return fmt.Errorf("%s cannot follow %s: %w", name, lead, s.Broken)
	case !s.Streams:
		return fmt.Errorf("%s hears nothing of %s", name, lead)
	case s.Follows.IsValid() && s.Follows != at:
		return fmt.Errorf("%s follows %s, and %s is at %s", name, s.Follows, lead, at)
	}
	return nil
}

// Form checks the settings of the failover manager.
func (o *Operator) Form(context.Context) error {
	_, err := o.wait()
	return err
}
