package redisson

import (
	"cmp"
	"context"
	"time"

	"lockbench/locks/goredis"
)

var (
	fairAcquire   = goredis.ReadScript(scripts, "fair_acquire.lua")
	fairAcquireF3 = goredis.ReadScript(scripts, "fair_acquire_f3.lua")
	fairTry       = goredis.ReadScript(scripts, "fair_try.lua")
	fairRelease   = goredis.ReadScript(scripts, "fair_release.lua")
	fairGiveUp    = goredis.ReadScript(scripts, "fair_give_up.lua")
)

// fairWait is how long a waiter without a time limit counts as alive.
const fairWait = 5 * time.Minute

// fair serves clients in the order of their requests. Waiters are in a list, and in a sorted set with the time after which
// they count as dead. The times come from the clients' clocks: a client whose clock is ahead empties the queue (hazard
// A waiter that dies at the head blocks the queue until its time (hazard R-2), and the waiters behind it
// retry at once, again and again (hazard R-3).
type fair struct{}

var _ kind = fair{}

func (fair) keys(key string) []string { return []string{key, fairQueue(key), fairTimeouts(key)} }

// life returns how many milliseconds the waiter of a hold counts as alive.
func (fair) life(h *hold) int64 { return cmp.Or(h.wait, fairWait).Milliseconds() }

func (k fair) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	now := l.o.Now().UnixMilli()
	script, args := fairAcquire, []any{h.leaseMs(), h.owner, k.life(h), now}
	switch {
	case h.wait == 0:
		script, args = fairTry, []any{h.leaseMs(), h.owner, now, k.life(h)}
	case l.o.OldQueue:
		script = fairAcquireF3
	}
	// The reply is nil, or the time to wait, which can be negative in the old form (hazard R-6).
	left, refused, err := l.run(ctx, script, k.keys(h.key), args...)
	if err != nil {
		return grant{}, err
	}
	return grant{granted: !refused, left: time.Duration(left) * time.Millisecond}, nil
}

func (k fair) release(ctx context.Context, l *locker, h *hold) (bool, error) {
	keys := append(k.keys(h.key), lockChannel(h.key), h.latch)
	_, held, err := l.run(ctx, fairRelease, keys,
		wakeOne, h.leaseMs(), h.owner, l.o.Now().UnixMilli(), l.o.publish, l.o.latchTTL())
	return held, err
}

// giveUp leaves the queue. Otherwise the client would become a dead head of it.
func (k fair) giveUp(ctx context.Context, l *locker, h *hold) error {
	if h.wait == 0 { // never queued
		return nil
	}
	_, _, err := l.run(ctx, fairGiveUp, k.keys(h.key)[1:], h.owner, k.life(h))
	return err
}

func (fair) channel(h *hold) string { return fairChannel(h.key, h.owner) }

func (fair) renewed(l *locker, h *hold) (*watchdog, string) { return l.dog, h.owner }
