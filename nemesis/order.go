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
func operable(target string, c world.Cluster) error {
	if err := roleAvailable(target, c); err != nil {
		return err
	}
	if ofClients(target) {
		return errors.New(canonical(target) + " is no server")
	}
	if _, ok := c.(world.Operator); !ok {
		return errors.New("this world gives servers no orders")
	}
	return nil
}

// order does something to the servers in a role, to all at once.
func order(ctx context.Context, s Scene, target, text string, do func(op world.Operator, node string) error) (Undo, error) {
	targets, err := resolve(ctx, target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" "+text)
	op := s.Cluster.(world.Operator)
	return Nothing, each(targets, func(node string) error { return do(op, node) })
}
