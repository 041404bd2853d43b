package redisson

import (
	"context"
	_ "embed" // the scripts
	"time"

	"lockbench/locks/goredis"
)

var (
	//go:embed fair_acquire.lua
	fairAcquireLua string
	//go:embed fair_acquire_f3.lua
	fairAcquireF3Lua string
	//go:embed fair_acquire_f1.lua
	fairAcquireF1Lua string
	//go:embed fair_try.lua
	fairTryLua string
	//go:embed fair_release.lua
	fairReleaseLua string
	//go:embed fair_give_up.lua
	fairGiveUpLua string
	//go:embed fair_give_up_f1.lua
	fairGiveUpF1Lua string

	fairAcquire   = goredis.NewScript("fair_acquire.lua", fairAcquireLua)
	fairAcquireF3 = goredis.NewScript("fair_acquire_f3.lua", fairAcquireF3Lua)
	fairAcquireF1 = goredis.NewScript("fair_acquire_f1.lua", fairAcquireF1Lua)
	fairTry       = goredis.NewScript("fair_try.lua", fairTryLua)
	fairRelease   = goredis.NewScript("fair_release.lua", fairReleaseLua)
	fairGiveUp    = goredis.NewScript("fair_give_up.lua", fairGiveUpLua)
	fairGiveUpF1  = goredis.NewScript("fair_give_up_f1.lua", fairGiveUpF1Lua)
)

// Form is a variant of the fair lock.
type Form string

// The forms differ in when a waiter counts as dead, and in the answers to the waiters behind it.
const (
	F0 Form = "F0" // from an article, never released: it adds the time of day twice
	F1 Form = "F1" // 3.5.5 to 3.11.0: 5 s behind the head
	F2 Form = "F2" // 3.11.1 to 3.13.2: 5 s behind the one before
	F3 Form = "F3" // 3.13.3 to 3.31: the caller's wait, or 5 minutes
	F4 Form = "F4" // current: no negative waits
)

// oldLife is how long a waiter counts as alive in the forms before F3.
const oldLife = 5 * time.Second

// fair serves clients in the order of their requests. Waiters are in a list, and in a sorted set with the time after which
// they count as dead. The times come from the clients' clocks: a client whose clock is ahead empties the queue (hazard
// A waiter that dies at the head blocks the queue until its time (hazard R-2), and the waiters behind it are told to
// retry at once, again and again (hazard R-3).
type fair struct{ form Form }

var _ kind = fair{}

func (k fair) keys(key string) []string { return []string{key, fairQueue(key), fairTimeouts(key)} }

// life returns how long the waiter of a hold counts as alive.
func (k fair) life(l *locker, h *hold) int64 {
	if h.wait > 0 {
		return h.wait.Milliseconds()
	}
	return l.o.FairWait.Milliseconds()
}

func (k fair) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	now := l.o.Now().UnixMilli()
	if h.wait == 0 {
		_, refused, err := l.run(ctx, fairTry, k.keys(h.key), h.leaseMs(), h.owner, now, k.life(l, h))
		return queued(0, refused, err)
	}
	script, life := fairAcquire, k.life(l, h)
	switch k.form {
	case F0:
		script, life = fairAcquireF3, now+oldLife.Milliseconds()
	case F1:
		script, life = fairAcquireF1, now+oldLife.Milliseconds()
	case F2:
		script, life = fairAcquireF3, oldLife.Milliseconds()
	case F3:
		script = fairAcquireF3
	}
	left, refused, err := l.run(ctx, script, k.keys(h.key), h.leaseMs(), h.owner, life, now)
	return queued(left, refused, err)
}

// queued reads the reply of the fair lock's acquire scripts: nil, or the time to wait, which can be negative in the
// earlier forms (hazard R-6).
func queued(left int64, refused bool, err error) (grant, error) {
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
	script, life := fairGiveUp, k.life(l, h)
	switch {
	case h.wait == 0 || k.form == F0: // never queued; the article shows no way out
		return nil
	case k.form == F1:
		script, life = fairGiveUpF1, oldLife.Milliseconds()
	case k.form == F2:
		life = oldLife.Milliseconds()
	}
	_, _, err := l.run(ctx, script, k.keys(h.key)[1:], h.owner, life)
	return err
}

func (fair) channel(h *hold) string { return fairChannel(h.key, h.owner) }

func (fair) renewed(l *locker, h *hold) (*watchdog, string) { return l.dog, h.owner }
