package service

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// ask runs do with a new connection to a server, and interrupts it at a limit.
func ask(ctx context.Context, name string, limit time.Duration, dial func(context.Context) (net.Conn, error),
	do func(context.Context, net.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := dial(ctx)
	if err == nil {
		err = Interrupt(ctx, c, func() error { return do(ctx, c) })
		c.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Poll repeats try until it succeeds or ctx ends.
func Poll(ctx context.Context, try func() error) error { return poll(ctx, 5*time.Millisecond, try) }

// AwaitHealthy returns once a group is healthy. Healthy limits its own questions. Without ctx it reports the
// defect, which is more useful than the news that the time is over.
func AwaitHealthy(ctx context.Context, g Group) error {
	return poll(ctx, 10*time.Millisecond, func() error { return g.Healthy(context.WithoutCancel(ctx)) })
}

func poll(ctx context.Context, every time.Duration, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}
