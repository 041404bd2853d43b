package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
)

// Meet starts a user's guest in a world and returns its hello.
func Meet(ctx context.Context, w world.World, client world.ClientSpec) (met world.Met, err error) {
	defer func() { err = maskOf(w).Error(err) }()
	runs := w.Describe()
	switch {
	case client.Module != "" && !runs.Modules:
		return world.Met{}, world.Unsupportedf("world %s cannot run WASM guests; build the guest as a program, or use --world sim", w.Name())
	case client.Command != "" && !runs.Commands:
		return world.Met{}, world.Unsupportedf("%s cannot run guests; use --world local or docker", w.Name())
	}
	what := cmp.Or(client.Command, client.Module)
	met, err = w.Meet(ctx, client)
	if err != nil {
		return met, fmt.Errorf("start the guest %q: %w", what, err)
	}
	switch met.Card().Family {
	case locks.Control, locks.SingleStore, locks.Majority:
	default:
		return met, fmt.Errorf("the hello of the guest %q has the family %q; known are control, single-store and majority", what, met.Family)
	}
	known := []string{history.Mutex, history.Reentrant, history.RW, history.Fenced}
	for _, word := range met.Model {
		if !slices.Contains(known, word) {
			return met, fmt.Errorf("the hello of the guest %q has the model %q; known are %s", what, word, strings.Join(known, ", "))
		}
	}
	if err := KnownService(met.Service); err != nil {
		return met, fmt.Errorf("the hello of the guest %q: %w", what, err)
	}
	return met, nil
}

// Introduce requests the hello of a user's guest before servers start, and returns an error if the world cannot run the
// lock with these faults. The guest's family decides which servers it needs; its capabilities and its model go into the
// header of the history.
func (sub *Subject) Introduce(ctx context.Context, w world.World) error {
	if sub.Input.Lock.Own() {
		if err := sub.meet(ctx, w); err != nil {
			return err
		}
	}
	if at, ok := w.(placer); ok {
		if err := at.Place(&sub.Spec); err != nil {
			return err
		}
	}
	if sub.Input.NoFaults {
		return nil
	}
	return nemesis.Spares(sub.Input.Faults, w.Sketch(sub.Spec))
}

// meet completes a guest's subject by its hello.
func (sub *Subject) meet(ctx context.Context, w world.World) error {
	met, err := Meet(ctx, w, sub.client)
	if err != nil {
		return err
	}
	if entry, known := sub.Input.Lock.Entry(); known && entry.Family != met.Family {
		return fmt.Errorf("the guest of %s says that it is a %s lock, and the catalog that it is a %s lock; build the guests again: make guests",
			entry.Name, met.Family, entry.Family)
	}
	sub.Card, sub.Hello, sub.asksLibc = met.Card(), met.Hello, met.AsksLibc
	sub.service = cmp.Or(met.Service, sub.service)
	refused, err := sub.assign()
	if err == nil && refused != nil {
		err = world.Unsupportedf("%w, which the hello of the guest %q does not claim", refused, cmp.Or(sub.client.Command, sub.client.Module))
	}
	return err
}
