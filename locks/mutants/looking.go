package mutants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/redisson"
)

// lookingWriter is a lock for readers and writers whose writers send two requests. The first one
// checks for readers, and the second one takes the lock without that check.
func lookingWriter() locks.Opener {
	blind := edit{"write_acquire.lua", "if not mode then", "if not mode or mode == 'read' then"}
	return looking(blind, locks.Exclusive, "read")
}

// lookingReader is such a lock whose readers check for a writer first.
func lookingReader() locks.Opener {
	blind := edit{"read_acquire.lua", "mode == 'read' or redis.call('hexists', KEYS[1], ARGV[3]) == 1", "true"}
	return looking(blind, locks.Shared, "write")
}

// looking is a lock whose requests of a mode check in a first request that the lock is not in the mode that excludes it.
// The second request is blind to that.
func looking(blind edit, mode locks.Mode, excluded string) locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.Connect(c.Store)
		if err != nil {
			return nil, fmt.Errorf("open a wrong lock: %w", err)
		}
		l, err := redisson.NewReadWrite(redisson.Options{Lua: blind.apply})(ctx, c)
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return lookingLock{l, client, mode, excluded}, nil
	}
}

type lookingLock struct {
	locks.Locker
	client   redis.UniversalClient
	mode     locks.Mode
	excluded string // in the lock's hash
}

// Acquire checks for holders that exclude the request before it takes the lock.
func (l lookingLock) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if r.Mode != l.mode {
		return l.Locker.Acquire(ctx, r)
	}
	until := time.Now().Add(r.Wait)
	r.Wait = 0
	for {
		mode, err := goredis.Do(ctx, l.client, "hget", r.Keys[0], "mode").Text()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("look for holders of %q: %w", r.Keys[0], err)
		}
		var lease locks.Lease
		err = locks.ErrTaken
		if mode != l.excluded {
			lease, err = l.Locker.Acquire(ctx, r)
		}
		if !errors.Is(err, locks.ErrTaken) || time.Now().After(until) || ctx.Err() != nil {
			return lease, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Close closes both connections.
func (l lookingLock) Close() error { return errors.Join(l.Locker.Close(), l.client.Close()) }
