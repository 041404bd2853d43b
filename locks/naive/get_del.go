package naive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// NewGetDel returns the opener of get-del:
//
//	acquire  SET name token NX PX ttl
//	release  GET name; if it is the token: DEL name
//
// Between the GET and the DEL the lease can run out and somebody else get the lock,
// which the DEL then deletes. A pause there is as likely as anywhere.
//
// A client that is stopped there for longer than it waits for answers may find, when it
// wakes, that its time is up and the answer has come; which of the two it sees first is
// chance. more is how much longer than usual it waits, so that it is the answer.
func NewGetDel(more time.Duration) locks.Opener {
	return patient("get-del", more, func(client redis.UniversalClient, c locks.Client) locks.Locker {
		return &getDel{client: client, tokens: plain.NewTokens(c)}
	})
}

type getDel struct {
	client redis.UniversalClient
	tokens *plain.Tokens
}

var _ locks.Locker = (*getDel)(nil)

// Acquire tries once.
func (l *getDel) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, ttl, err := asked("get-del", r)
	if err != nil {
		return nil, err
	}
	lease := &getDelLease{End: plain.NewEnd(time.Now().Add(ttl)), client: l.client, key: key, token: l.tokens.Next()}
	granted, err := goredis.Claim(ctx, l.client, key, lease.token, ttl)
	switch {
	case err != nil:
		return lease, fmt.Errorf("get-del: acquire: %w", err)
	case !granted:
		return nil, locks.ErrTaken
	}
	return lease, nil
}

// Close closes the connections.
func (l *getDel) Close() error { return l.client.Close() }

type getDelLease struct {
	*plain.End
	client redis.UniversalClient
	key    string
	token  string
}

var (
	_ locks.Lease   = (*getDelLease)(nil)
	_ locks.Bounded = (*getDelLease)(nil)
)

// Release looks whether the key is its own, and then deletes whatever is there.
func (l *getDelLease) Release(ctx context.Context) error {
	value, err := l.client.Get(ctx, l.key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("get-del: release %q: get: %w", l.key, err)
	case value != l.token:
		return locks.ErrNotHeld
	}
	n, err := l.client.Del(ctx, l.key).Result()
	switch {
	case err != nil:
		return fmt.Errorf("get-del: release %q: del: %w", l.key, err)
	case n == 0:
		return locks.ErrNotHeld // it ran out between the two
	}
	return nil
}
