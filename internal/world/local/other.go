//go:build !linux

package local

import (
	"context"
	"errors"

	"lockbench/internal/world"
)

var _ world.World = (*World)(nil)

var errLinux = errors.New("the local world needs Linux, where every address of 127/8 can be used as it is; " +
	"take --world docker instead")

// Ready returns why this world cannot be used here.
func (w *World) Ready(context.Context) error { return errLinux }

// Meet fails as Ready does.
func (w *World) Meet(context.Context, world.ClientSpec) (world.Met, error) {
	return world.Met{}, errLinux
}

// Run fails as Ready does.
func (w *World) Run(context.Context, world.Spec, func(context.Context, world.Cluster) error) error {
	return errLinux
}
