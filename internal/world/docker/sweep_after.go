//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// lateFor is how long after an owner's end its objects may still appear, since a daemon completes the requests of
// dead processes.
const lateFor = 5 * time.Second

// SweepAfter waits for the end of life, and then removes the objects of an owner.
func SweepAfter(ctx context.Context, life io.Reader, owner string) error {
	if owner == "" || strings.ContainsAny(owner, "=,") {
		return fmt.Errorf("%q is the name of no owner", owner)
	}
	if _, err := io.Copy(io.Discard, life); err != nil {
		return fmt.Errorf("wait for the end of a run: %w", err)
	}
	provider, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := contextWithLimit(ctx, stopLimit, "remove what a killed run has left behind")
	defer cancel()
	var failed error // until it has succeeded after all
	for last := time.Now(); time.Since(last) < lateFor; {
		found, err := findLeftovers(ctx, provider.Client(), owner)
		if err == nil {
			var some bool
			if some, err = found.remove(ctx, provider.Client()); some {
				last = time.Now()
			}
		}
		failed = err
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(failed, context.Cause(ctx))
		}
	}
	return failed
}
