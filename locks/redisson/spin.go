package redisson

import (
	"context"
	"time"
)

// spin is the plain lock without messages. A refused client retries after 1 ms, 2 ms, ... 128 ms.
type spin struct{ rlock }

var _ kind = spin{}

func (spin) channel(*hold) string { return "" }

func (spin) release(ctx context.Context, l *locker, h *hold) (bool, error) {
	keys, args := rlockReleaseCall(l, h, "")
	_, held, err := l.run(ctx, rlockRelease, keys, args...)
	return held, err
}

const (
	spinMin = time.Millisecond
	spinMax = 128 * time.Millisecond
)

// backoff returns a function that sleeps for the next pause plus a small random time, at most left.
func backoff(draw func(n int64) int64) func(ctx context.Context, left time.Duration) error {
	next := spinMin
	return func(ctx context.Context, left time.Duration) error {
		d := next + time.Duration(draw(int64(spinMin)))
		next = min(2*next, spinMax)
		return sleep(ctx, min(d, left))
	}
}

// sleep sleeps, at most until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
