package operator

import (
	"context"
	"fmt"

	"lockbench/internal/service"
)

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
	lead := o.Lead()
	for _, n := range o.Nodes() {
		s := all[n.Name]
		switch {
		case n.Name == lead && !s.Leads:
			return fmt.Errorf("%s, the leader for clients, does not lead", lead)
		case n.Name != lead && s.Leads:
			return fmt.Errorf("%s leads, and so does %s", n.Name, lead)
		case n.Name != lead:
			err = o.follows(n.Name, s, lead)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follows returns why a node does not follow a leader.
func (o *Operator) follows(name string, s State, lead string) error {
	at := o.Host.AddrFor(name, lead, 0)
	switch {
	case o.isStale(name):
		return fmt.Errorf("%s has the data of one that has led", name)
	case s.Broken != nil:
		return fmt.Errorf("%s cannot follow %s: %w", name, lead, s.Broken)
	case !s.Streams:
		return fmt.Errorf("%s is not connected to %s", name, lead)
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
