package trial

import (
	"cmp"
	"context"
	"fmt"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/scenarios"
)

// Meet starts a user's guest in a world and returns its hello.
func Meet(ctx context.Context, w world.World, client world.ClientSpec) (world.Met, error) {
	runs := w.Describe()
	switch {
	case client.Module != "" && !runs.Modules:
		return world.Met{}, fmt.Errorf("%w: world %s cannot run WASM guests; build the guest as a program, or use --world sim", world.ErrUnsupportedHere, w.Name())
	case client.Command != "" && !runs.Commands:
		return world.Met{}, fmt.Errorf("%w: %s cannot run guests; use --world local or docker", world.ErrUnsupportedHere, w.Name())
	}
	what := cmp.Or(client.Command, client.Module)
	met, err := w.Meet(ctx, client)
	if err != nil {
		return met, fmt.Errorf("start the guest %q: %w", what, err)
	}
	switch met.Card().Family {
	case locks.Control, locks.SingleStore, locks.Majority:
	default:
		return met, fmt.Errorf("the hello of the guest %q has the family %q; known are control, single-store and majority", what, met.Family)
	}
	if err := KnownService(met.Service); err != nil {
		return met, fmt.Errorf("the hello of the guest %q: %w", what, err)
	}
	return met, nil
}

// Introduce requests the hello of a user's guest before servers start. The guest's family decides which servers it needs;
// its capabilities and its model go into the header of the history.
func Introduce(ctx context.Context, w world.World, sub *Subject, s *scenarios.Scenario) error {
	if !sub.use.Own() {
		return sub.Settle(w)
	}
	met, err := Meet(ctx, w, sub.client)
	if err != nil {
		return err
	}
	sub.Card, sub.Hello, sub.asksLibc = met.Card(), met.Hello, met.AsksLibc
	sub.service = cmp.Or(met.Service, sub.service)
	if err := sub.place(s); err != nil {
		return err
	}
	refused, err := sub.asks(s.WorkFor(sub.use))
	if err != nil {
		return err
	}
	if refused != nil {
		return fmt.Errorf("the guest %q cannot take part: %w, which its hello does not claim", cmp.Or(sub.use.Command, sub.use.Module), refused)
	}
	return sub.Settle(w)
}
