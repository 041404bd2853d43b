// Package worldtest is what the tests of the worlds have in common: what a cluster must be
// able to do, and a process of its own for a test that spoils the one that it runs in.
package worldtest

import (
	"fmt"

	"lockbench/internal/world"
)

// Can is something that a cluster can do.
func Can[T any](c world.Cluster) T {
	t, ok := world.Ability[T](c)
	if !ok {
		panic(fmt.Sprintf("%T lacks the ability", c))
	}
	return t
}
