//go:build linux

package local

import (
	"context"

	"lockbench/internal/world"
	"lockbench/internal/world/process"
)

// Meet starts a user's guest without a lock service, reads its hello, and ends it.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (world.Met, error) {
	return process.Meet(ctx, s)
}
