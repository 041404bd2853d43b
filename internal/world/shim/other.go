//go:build !linux

package shim

import "errors"

// Ready returns why clocks cannot be shifted on this machine.
func Ready() error { return errors.New("clocks are shifted on Linux only") }
