package naive

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// NewSetnxExpire returns the opener of setnx-expire:
//
//	acquire  SETNX name 1, then EXPIRE name ttl
//	release  DEL name
//
// A client that dies between the two leaves a lock without an end.
func NewSetnxExpire() locks.Opener {
	return opener("setnx-expire", func(client redis.UniversalClient, _ locks.Client) locks.Locker {
		return &setnxExpire{client: client}
	})
}

type setnxExpire struct{ client redis.UniversalClient }

var _ locks.Locker = (*setnxExpire)(nil)

// Acquire tries once. An EXPIRE of which nothing was heard makes the outcome
// unknown: the key is ours, but perhaps without an end.
func (l *setnxExpire) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, ttl, err := asked("setnx-expire", r)
	if err != nil {
		return nil, err
	}
	lease := &delLease{End: plain.NewEnd(time.Now().Add(ttl)), lock: "setnx-expire", client: l.client, key: key}
	set, err := l.client.Do(ctx, "setnx", key, 1).Int64()
	switch {
	case err != nil:
		// Without a lease: whose the key is now, nobody knows, and DEL does not ask.
		return nil, fmt.Errorf("setnx-expire: acquire %q: setnx: %w", key, err)
	case set == 0:
		return nil, locks.ErrTaken
	}
	command, n := expiry(ttl, "expire", "pexpire")
	if err := l.client.Do(ctx, command, key, n).Err(); err != nil {
		return lease, fmt.Errorf("setnx-expire: acquire %q: %s: %w", key, command, err)
	}
	return lease, nil
}

// Close closes the connections.
func (l *setnxExpire) Close() error { return l.client.Close() }
