package redisson

import (
	"context"

	"lockbench/locks"
	"lockbench/locks/goredis"
)

var (
	readAcquire     = goredis.ReadScript(scripts, "read_acquire.lua")
	readRelease     = goredis.ReadScript(scripts, "read_release.lua")
	writeAcquire    = goredis.ReadScript(scripts, "write_acquire.lua")
	writeRelease    = goredis.ReadScript(scripts, "write_release.lua")
	renewReadScript = goredis.ReadScript(scripts, "renew_read.lua")
)

// readWrite admits many readers or one writer. A writer may read; a reader that requests the write lock waits for itself
// (hazard R-26). Readers overtake a waiting writer and can starve it. Each read hold has its own key, whose expiry is its
// lease; write holds share the key of the lock.
type readWrite struct{}

var _ kind = readWrite{}

// writer returns the owner of a write hold.
func writer(h *hold) string { return h.owner + ":write" }

func (readWrite) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	if h.mode == locks.Shared {
		return answer(l.script(readAcquire).Run(ctx, l.client, []string{h.key, readHolds(h.key, h.owner)}, h.leaseMs(), h.owner, writer(h)))
	}
	return answer(l.script(writeAcquire).Run(ctx, l.client, []string{h.key}, h.leaseMs(), writer(h)))
}

func (readWrite) release(ctx context.Context, l *locker, h *hold) (held bool, err error) {
	if h.mode == locks.Shared {
		_, held, err = l.run(ctx, readRelease,
			[]string{h.key, rwChannel(h.key), readHolds(h.key, h.owner), tagged(h.key), h.latch},
			wakeOne, h.owner, l.o.publish, l.o.latchTTL())
		return held, err
	}
	_, held, err = l.run(ctx, writeRelease, []string{h.key, rwChannel(h.key), h.latch},
		wakeAll, h.leaseMs(), writer(h), l.o.publish, l.o.latchTTL())
	return held, err
}

func (readWrite) giveUp(context.Context, *locker, *hold) error { return nil }

func (readWrite) channel(h *hold) string { return rwChannel(h.key) }

func (readWrite) renewed(l *locker, h *hold) (*watchdog, string) {
	if h.mode == locks.Shared {
		return l.readDog, h.owner
	}
	return l.dog, writer(h)
}
