//go:build !linux

package shim

import "errors"

// Ready says why no clock can be shifted on this machine.
func Ready() error { return errors.New("clocks are shifted on Linux only") }
