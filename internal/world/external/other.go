//go:build !linux

package external

import (
	"context"
	"errors"

	"lockbench/internal/world"
)

var _ world.World = (*World)(nil)

var errLinux = errors.New("the external world needs Linux, for its clients are stopped and ended as processes are there")

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
