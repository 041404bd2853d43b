//go:build !linux

package unsynced

import "errors"

// Ready returns why there is no disk that forgets here.
func Ready() error { return errors.New("power loss needs FUSE of Linux") }

// ReadyIn returns why there is none in containers.
func ReadyIn() error { return Ready() }
