package redisson

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"lockbench/locks/goredis"
)

// synced is the plain lock that sends WAIT with each acquire and release, to learn how many
// replicas have received it. If none has although there are some, the acquire is undone and
// repeated.
//
// One acknowledgement is enough, and the replica that sent it need not be the one that is
// promoted. A master without replicas needs no acknowledgement.
type synced struct {
	rlock

	mu       sync.Mutex
	replicas int // as the master reported once
	known    bool
}

var _ kind = (*synced)(nil)

// errNoReplica is the error of a change on the master that no replica has confirmed.
var errNoReplica = errors.New("no replica has confirmed it")

func (k *synced) ask(ctx context.Context, l *locker, h *hold) (grant, error) {
	for attempt := 0; ; attempt++ {
		reply, acknowledged, expected, err := k.run(ctx, l, rlockAcquire, []string{h.key}, h.leaseMs(), h.owner)
		if err != nil {
			return grant{}, err
		}
		g, err := answer(reply.Int64())
		if err != nil || !g.granted || expected == 0 || acknowledged > 0 {
			return g, err
		}
		if l.o.KeepUnconfirmed {
			return grant{left: 0}, nil
		}
		if err := k.giveBack(ctx, l, h); err != nil {
			return grant{}, fmt.Errorf("%w, and its release failed: %w", errNoReplica, err)
		}
		k.forget()
		if attempt >= l.o.Retries {
			return grant{left: 0}, nil
		}
		if l.pause(ctx, attempt) != nil {
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
	reply, acknowledged, expected, err := k.run(ctx, l, rlockRelease, keys, args...)
	if err != nil {
		return false, err
	}
	_, held, err := nilOr(reply)
	if err == nil && held && expected > 0 && acknowledged == 0 {
		k.forget()
		return false, fmt.Errorf("released on the master: %w", errNoReplica)
	}
	return held, err
}

// run runs a script and waits for replicas, unless the master has none.
func (k *synced) run(ctx context.Context, l *locker, s *goredis.Script, keys []string, args ...any) (reply *redis.Cmd, acknowledged int64, expected int, err error) {
	master, err := goredis.Master(ctx, l.client, keys[0])
	if err != nil {
		return nil, 0, 0, err
	}
	if expected, err = k.expect(ctx, master); err != nil {
		return nil, 0, 0, err
	}
	if expected == 0 {
		reply = l.script(s).Cmd(ctx, master, keys, args...)
		if err := reply.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return nil, 0, 0, err
		}
		return reply, 0, 0, nil
	}
	reply, acknowledged, err = l.script(s).RunAndWait(ctx, master, expected, l.o.SyncTimeout, keys, args...)
	if err != nil {
		k.forget()
		return nil, 0, 0, err
	}
	return reply, acknowledged, expected, nil
}

// expect returns how many replicas the master reported last. It asks the master
// again only after a failure. So the clients of an isolated master still count its replicas, and
// those of a master that got replicas later count none.
//
// It does not hold the mutex meanwhile: several callers may ask at once, with the same result.
func (k *synced) expect(ctx context.Context, master *redis.Client) (int, error) {
	if n, known := k.remembered(); known {
		return n, nil
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
			k.mu.Lock()
			defer k.mu.Unlock()
			k.replicas, k.known = n, true
			return n, nil
		}
	}
	return 0, errors.New("ask for the number of replicas: INFO does not say")
}

func (k *synced) remembered() (n int, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.replicas, k.known
}

func (k *synced) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = false
}

// nilOr reads a reply that is a whole number or nil.
func nilOr(reply *redis.Cmd) (n int64, ok bool, err error) {
	n, err = reply.Int64()
	if errors.Is(err, redis.Nil) {
		return 0, false, nil
	}
	return n, err == nil, err
}
