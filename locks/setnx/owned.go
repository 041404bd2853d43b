package setnx

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// owned is a lease on a key that holds the lease's token.
type owned struct {
	*plain.End
	lock   string // for errors
	client redis.UniversalClient
	key    string
	token  string
}

var (
	_ locks.Lease   = (*owned)(nil)
	_ locks.Renewer = (*owned)(nil)
	_ locks.Bounded = (*owned)(nil)
)

// Release deletes the key if it is still this lease's.
func (l *owned) Release(ctx context.Context) error {
	mine, err := goredis.Disown(ctx, l.client, l.key, l.token)
	switch {
	case err != nil:
		return fmt.Errorf("%s: release %q: %w", l.lock, l.key, err)
	case !mine:
		return locks.ErrNotHeld
	}
	return nil
}

// Renew moves the end of the key to ttl from now if it is still this lease's.
func (l *owned) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("%s: renew %q: %w", l.lock, l.key, err)
	}
	end := time.Now().Add(ttl) // from before the request, as in Acquire
	mine, err := goredis.Extend(ctx, l.client, l.key, l.token, ttl)
	switch {
	case err != nil:
		l.Doubted(end)
		return fmt.Errorf("%s: renew %q: %w", l.lock, l.key, err)
	case !mine:
		l.Lost()
		return locks.ErrNotHeld
	}
	l.Moved(end)
	return nil
}
