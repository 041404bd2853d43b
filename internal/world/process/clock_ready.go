package process

import (
	"lockbench/internal/world"
	"lockbench/internal/world/shim"
)

// ClockReady returns why the clocks of clients that are processes cannot be shifted, or nil.
func ClockReady(s world.Spec) error {
	if !s.AsksLibc {
		return world.ErrClientClock
	}
	return shim.Ready()
}
