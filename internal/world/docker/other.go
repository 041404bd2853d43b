//go:build !linux

package docker

import (
	"context"
	"errors"
	"io"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

var _ world.World = (*World)(nil)

var errLinux = errors.New("the docker world needs Linux so far, for the clients, which are processes of this machine")

type state struct {
	images map[string]ImageInfo
	tried  map[string]string
}

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

// Image fails as Ready does.
func (w *World) Image(context.Context, *service.Service) (ImageInfo, error) {
	return ImageInfo{}, errLinux
}

// SweepAfter fails as Ready does.
func SweepAfter(context.Context, io.Reader, string) error { return errLinux }

// Report returns nothing beyond the error of Ready.
func (w *World) Report(context.Context) []string { return nil }
