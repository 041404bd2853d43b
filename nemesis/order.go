package nemesis

import (
	"context"
	"errors"
	"strings"

	"lockbench/internal/world"
)

// What an operator orders servers to do has much in common: it is done past all faults,
// the servers say themselves that it was done, and there is nothing to take back.

// operable asks for servers in a role and for somebody who may give them orders.
func operable[T any](target string, c world.Cluster) error {
	if err := roleAvailable(target, c); err != nil {
		return err
	}
	if ofClients(target) {
		return errors.New(canonical(target) + " is no server")
	}
	if _, ok := world.Ability[T](c); !ok {
		return errors.New("these servers take no such order")
	}
	return nil
}

// order does something to the servers in a role, to all at once.
func order[T any](ctx context.Context, s Scene, target, text string, do func(by T, node string) error) (Undo, error) {
	targets, err := resolve(ctx, target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" "+text)
	by, _ := world.Ability[T](s.Cluster)
	return Nothing, each(targets, func(node string) error { return do(by, node) })
}
