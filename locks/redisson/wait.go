package redisson

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks/goredis"
)

// synced is the plain lock that sends WAIT with each acquire and release, to learn how many
// replicas have received it. If none has although there are some, the acquire is undone and
// repeated.
//
// One acknowledgement is enough, and the replica that sent it need not be the one that is
// promoted. A master without replicas needs no acknowledgement, unless [Options.RequireReplica] is set.
type synced struct {
	rlock

	replicas atomic.Int64 // as the master reported once, plus one; 0: not known
}

var _ kind = (*synced)(nil)

// errNoReplica is the error of a change on the master that no replica has confirmed.
var errNoReplica = errors.New("no replica has confirmed it")

func (k *synced) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	for attempt := 0; ; attempt++ {
		start := time.Now()
		left, _, confirmed, err := k.run(ctx, l, rlockAcquire, []string{h.key}, h.leaseMs(), h.owner)
		g, err := answer(left, err)
		g.start = start
		if err != nil || !g.granted || confirmed {
			return g, err
		}
		if l.o.KeepUnconfirmed {
			return grant{left: 0}, nil
		}
		if err := k.giveBack(ctx, l, h); err != nil {
			return grant{}, fmt.Errorf("%w, and its release failed: %w", errNoReplica, err)
		}
		k.replicas.Store(0)
		if attempt >= l.o.Retries || l.pause(ctx, attempt) != nil {
			return grant{left: 0}, nil
		}
	}
}

// giveBack releases a grant that no replica has confirmed. If that release gets lost, the
// lock stays (hazard R-18). It ignores the end of the caller's context.
func (k *synced) giveBack(ctx context.Context, l *locker, h *hold) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	undo := *h
	undo.latch = latchKey(h.key, l.tokens.Next())
	keys, args := rlockReleaseCall(l, &undo, l.o.publish)
	if _, _, err := l.run(ctx, rlockRelease, keys, args...); err != nil {
		return err
	}
	if !l.o.NoLatch {
		l.latches.add(undo.latch)
	}
	return nil
}

func (k *synced) release(ctx context.Context, l *locker, h *hold) (bool, error) {
	keys, args := rlockReleaseCall(l, h, l.o.publish)
	_, held, confirmed, err := k.run(ctx, l, rlockRelease, keys, args...)
	if err == nil && held && !confirmed {
		k.replicas.Store(0)
		return false, fmt.Errorf("released on the master: %w", errNoReplica)
	}
	return held, err
}

// run runs a script that returns a number or nil, and waits for replicas. It reports whether one has confirmed the change,
// or the master has none.
func (k *synced) run(ctx context.Context, l *locker, s *goredis.Script, keys []string, args ...any) (n int64, ok, confirmed bool, err error) {
	master, err := goredis.Master(ctx, l.client, keys[0])
	if err != nil {
		return 0, false, false, err
	}
	expected := 1
	if !l.o.RequireReplica {
		expected, err = k.expect(ctx, master)
	}
	switch {
	case err != nil:
		return 0, false, false, err
	case expected == 0:
		n, ok, err = l.script(s).RunOrNil(ctx, master, keys, args...)
		return n, ok, true, err
	}
	n, ok, acknowledged, err := l.script(s).RunAndWait(ctx, master, expected, l.o.SyncTimeout, keys, args...)
	if err != nil {
		k.replicas.Store(0)
	}
	return n, ok, acknowledged > 0, err
}

// expect returns how many replicas the master reported last. It asks the master
// again only after a failure. So the clients of an isolated master still count its replicas, and
// those of a master that got replicas later count none and send no WAIT.
// Several callers may ask at once, with the same result.
func (k *synced) expect(ctx context.Context, master *redis.Client) (int, error) {
	if n := k.replicas.Load(); n > 0 {
		return int(n - 1), nil
	}
	info, err := goredis.Do(ctx, master, "info", "replication").Text()
	if err != nil {
		return 0, fmt.Errorf("ask for the number of replicas: %w", err)
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "connected_slaves:"); ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				return 0, fmt.Errorf("ask for the number of replicas: %w", err)
			}
			k.replicas.Store(int64(n) + 1)
			return n, nil
		}
	}
	return 0, errors.New("ask for the number of replicas: INFO does not say")
}
