//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package control

import (
	"context"
	"fmt"
	"runtime"

	"lockbench/locks"
)

// OpenFlock returns an error, because this system has no flock(2).
func OpenFlock(context.Context, locks.Client) (locks.Locker, error) {
	return nil, fmt.Errorf("flock: %w: %s has no flock(2)", locks.ErrUnsupported, runtime.GOOS)
}
