package redisson

import (
	"context"
	"fmt"
	"time"

	"lockbench/locks/goredis"
)

var fencedAcquire = goredis.ReadScript(scripts, "fenced_acquire.lua")

// fenced is the plain lock with a counter that the acquire script increments. The counter lives as long as the server
// keeps it: after a failover to a stale replica, a restart without data or an eviction, numbers repeat (hazard R-33).
type fenced struct{ rlock }

var _ kind = fenced{}

func (fenced) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	reply, err := l.script(fencedAcquire).RunList(ctx, l.client, []string{h.key, fenceCounter(h.key)}, h.leaseMs(), h.owner)
	if err != nil {
		return grant{}, err
	}
	if len(reply) != 2 {
		return grant{}, fmt.Errorf("run fenced_acquire.lua: %d numbers, wanted 2", len(reply))
	}
	// {-1, n} is a grant. A key without an expiry gives {-1, -1}, which Redisson's client would also take for a grant
	// (R-34, not ported, because it was never observed).
	if reply[1] > 0 {
		return grant{granted: true, token: uint64(reply[1])}, nil
	}
	return grant{left: time.Duration(reply[0]) * time.Millisecond}, nil
}
