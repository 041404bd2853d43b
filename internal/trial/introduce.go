package trial

import (
	"cmp"
	"context"
	"fmt"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/scenarios"
)

// Introduce requests the hello of a user's guest before servers start. The guest's family decides which servers it needs;
// its capabilities and its model go into the header of the history.
func Introduce(ctx context.Context, w world.World, sub *Subject, s *scenarios.Scenario) error {
	if !sub.use.Own() {
		return sub.Settle(w)
	}
	host, ok := w.(world.Host)
	runs := w.Describe()
	switch {
	case sub.use.Module != "" && (!ok || !runs.Modules):
		return fmt.Errorf("%w: world %s cannot run WASM guests; build the guest as a program, or use --world sim", world.ErrUnsupportedHere, w.Name())
	case sub.use.Command != "" && (!ok || !runs.Commands):
		return fmt.Errorf("%w: %s cannot run guests; use --world local or docker", world.ErrUnsupportedHere, w.Name())
	}
	what := cmp.Or(sub.use.Command, sub.use.Module)
	met, err := host.Meet(ctx, sub.client)
	if err != nil {
		return fmt.Errorf("start the guest %q: %w", what, err)
	}
	hello := met.Hello
	sub.Card, sub.Hello, sub.asksLibc = hello.Card(), hello, met.AsksLibc
	switch sub.Family {
	case locks.Control, locks.SingleStore, locks.Majority:
	default:
		return fmt.Errorf("the hello of the guest %q has the family %q; known are control, single-store and majority", what, hello.Family)
	}
	if err := KnownService(hello.Service); err != nil {
		return fmt.Errorf("the hello of the guest %q: %w", what, err)
	}
	sub.service = cmp.Or(hello.Service, sub.service)
	if err := sub.place(s); err != nil {
		return err
	}
	refused, err := sub.asks(s.WorkFor(sub.use))
	if err != nil {
		return err
	}
	if refused != nil {
		return fmt.Errorf("the guest %q cannot take part: %w, which its hello does not claim", what, refused)
	}
	return sub.Settle(w)
}
