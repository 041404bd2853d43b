package redisson

import (
	"context"
	"embed"
	"time"

	"lockbench/locks/goredis"
)

//go:embed *.lua
var scripts embed.FS

var (
	rlockAcquire = goredis.ReadScript(scripts, "rlock_acquire.lua")
	rlockRelease = goredis.ReadScript(scripts, "rlock_release.lua")
	renewScript  = goredis.ReadScript(scripts, "renew.lua")
)

// rlock is the plain lock: re-entrant, unfair, with messages that wake waiters.
type rlock struct{}

var _ kind = rlock{}

func (rlock) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	return answer(l.script(rlockAcquire).Run(ctx, l.client, []string{h.key}, h.leaseMs(), h.owner))
}

// grantedWord is the answer of an acquire script for a grant. Otherwise the answer is the milliseconds left, which is -2
// only for a missing key. Redisson returns nil, which is an error in go-redis and costs 2.5 µs for every grant.
const grantedWord = -2

// answer reads the reply of an acquire script.
func answer(left int64, err error) (grant, error) {
	if err != nil {
		return grant{}, err
	}
	return grant{granted: left == grantedWord, left: time.Duration(left) * time.Millisecond}, nil
}

func (rlock) release(ctx context.Context, l *locker, h *hold) (bool, error) {
	keys, args := rlockReleaseCall(l, h, l.o.publish)
	_, held, err := l.run(ctx, rlockRelease, keys, args...)
	return held, err
}

func rlockReleaseCall(l *locker, h *hold, publish string) (keys []string, args []any) {
	return []string{h.key, lockChannel(h.key), h.latch},
		[]any{wakeOne, h.leaseMs(), h.owner, publish, l.o.latchTTL()}
}

func (rlock) giveUp(context.Context, *locker, *hold) error { return nil }

func (rlock) channel(h *hold) string { return lockChannel(h.key) }

func (rlock) renewed(l *locker, h *hold) (*watchdog, string) { return l.dog, h.owner }

// run runs a script that returns a number or nil.
func (l *locker) run(ctx context.Context, s *goredis.Script, keys []string, args ...any) (n int64, ok bool, err error) {
	return l.script(s).RunOrNil(ctx, l.client, keys, args...)
}

// script returns the script with the changes of Options.Lua.
func (l *locker) script(s *goredis.Script) *goredis.Script {
	if l.o.Lua == nil {
		return s
	}
	return s.Changed(l.o.Lua)
}
