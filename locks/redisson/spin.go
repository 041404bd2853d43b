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
	spinMin      = time.Millisecond
	spinMax      = 128 * time.Millisecond
	spinConstant = 64 * time.Millisecond
)

// backoff is the state of one waiter.
type backoff struct {
	constant bool
	next     time.Duration
	draw     func(n int64) int64
}

func newBackoff(constant bool, draw func(n int64) int64) *backoff {
	return &backoff{constant: constant, next: spinMin, draw: draw}
}

// pause sleeps for the next pause plus a small random time, at most left.
func (b *backoff) pause(ctx context.Context, left time.Duration) error {
	d := spinConstant
	if !b.constant {
		d = b.next + time.Duration(b.draw(int64(spinMin)))
		b.next = min(2*b.next, spinMax)
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
