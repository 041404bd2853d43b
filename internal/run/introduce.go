package run

import (
	"context"
	"fmt"

	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// introduce asks a guest of somebody's own who it is, before anything is started
// for it: its family decides on which servers it runs, and its claims and model
// go into the history's header.
func introduce(ctx context.Context, w world.World, sub *subject, s *scenarios.Scenario) error {
	if sub.use.Command == "" {
		return nil
	}
	host, ok := w.(world.Host)
	if !ok {
		return fmt.Errorf("%w: this world cannot start guests", world.ErrUnsupportedHere)
	}
	hello, err := host.Meet(ctx, sub.client)
	if err != nil {
		return fmt.Errorf("meet the guest %q: %w", sub.use.Command, err)
	}
	sub.family, sub.claims = catalog.Family(hello.Family), hello.Claims
	if len(hello.Model) > 0 {
		sub.model = hello.Model
	}
	switch sub.family {
	case catalog.Control, catalog.SingleStore, catalog.Majority:
	default:
		return fmt.Errorf("the guest %q says that its family is %q; known are control, single-store and majority", sub.use.Command, hello.Family)
	}
	asked, topology := s.For(sub.use)
	sub.place(topology)
	if work, ok := workloads.Find(asked.Name); ok {
		if err := work.Refuses(asked.Params(), sub.claims); err != nil {
			return fmt.Errorf("the guest %q cannot take part: %w, and its hello does not claim that", sub.use.Command, err)
		}
	}
	return nil
}
