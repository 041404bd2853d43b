package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Each calls f for all items at the same time and joins the errors.
func Each[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Poll repeats try until it succeeds or ctx ends.
func Poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// AwaitHealthy returns once a group is healthy.
func AwaitHealthy(ctx context.Context, g Group) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		// Healthy limits its own questions. Without ctx it reports the defect, which is more useful
		// than the news that the time is over.
		err := g.Healthy(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
