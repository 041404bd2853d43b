package trial

import (
	"context"
	"fmt"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// Introduce asks a guest of somebody's own who it is, before anything is started
// for it: its family decides on which servers it runs, and its claims and model
// go into the history's header.
func Introduce(ctx context.Context, w world.World, sub *Subject, s *scenarios.Scenario) error {
	if sub.use.Command == "" {
		return nil
	}
	host, ok := w.(world.Host)
	if !ok {
		return fmt.Errorf("%w: %s cannot run guests; use --world local or docker", world.ErrUnsupportedHere, w.Name())
	}
	hello, err := host.Meet(ctx, sub.client)
	if err != nil {
		return fmt.Errorf("meet the guest %q: %w", sub.use.Command, err)
	}
	sub.Card, sub.Hello = hello.Card(), hello
	switch sub.Family {
	case locks.Control, locks.SingleStore, locks.Majority:
	default:
		return fmt.Errorf("the guest %q says that its family is %q; known are control, single-store and majority", sub.use.Command, hello.Family)
	}
	if err := sub.place(s); err != nil {
		return err
	}
	asked := s.WorkFor(sub.use)
	if work, ok := workloads.Find(asked.Name); ok {
		if err := work.Refuses(asked.Params(), sub.Claims); err != nil {
			return fmt.Errorf("the guest %q cannot take part: %w, and its hello does not claim that", sub.use.Command, err)
		}
	}
	return nil
}
