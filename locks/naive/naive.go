// Package naive has the locks that people write first. Each lacks one thing that
// set-nx has, and each breaks by it:
//
//	setnx-expire  lock and expiry are two commands: crash in between, locked for ever
//	set-del       release deletes the key whoever holds it
//	get-del       release looks and then deletes: the key may change hands in between
//	getset-time   the end of the lease is a time of the clients' clocks, which differ
//
// They are faithful to their flaws and careful in everything else, so that what a
// run shows is the flaw and not an accident of this package.
package naive

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// opener connects and hands the client on.
func opener(lock string, open func(redis.UniversalClient, locks.Client) locks.Locker) locks.Opener {
	return patient(lock, 0, open)
}

// patient is opener for clients that wait so much longer for an answer.
func patient(lock string, more time.Duration, open func(redis.UniversalClient, locks.Client) locks.Locker) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.ConnectPatient(c.Store, more)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lock, err)
		}
		return open(client, c), nil
	}
}

// asked returns the name and the lease time that a request asks for.
func asked(lock string, r locks.Request) (key string, ttl time.Duration, err error) {
	if key, err = plain.Key(r); err != nil {
		return "", 0, fmt.Errorf("%s: %w", lock, err)
	}
	if ttl, err = plain.TTL(r.TTL); err != nil {
		return "", 0, fmt.Errorf("%s: %w", lock, err)
	}
	return key, ttl, nil
}

// expiry words a ttl as the commands of old did: in seconds if it is whole ones.
func expiry(ttl time.Duration, seconds, millis string) (unit string, n int64) {
	if ttl%time.Second == 0 {
		return seconds, int64(ttl / time.Second)
	}
	return millis, ttl.Milliseconds()
}

// delLease is a lease whose release deletes the key, whoever holds it by then.
type delLease struct {
	*plain.End
	lock   string
	client redis.UniversalClient
	key    string
}

var (
	_ locks.Lease   = (*delLease)(nil)
	_ locks.Bounded = (*delLease)(nil)
)

// Release deletes the key. It cannot tell its own from another's: if the lease ran
// out and somebody else holds by now, that lock is deleted, and the answer is ok.
func (l *delLease) Release(ctx context.Context) error {
	n, err := l.client.Del(ctx, l.key).Result()
	switch {
	case err != nil:
		return fmt.Errorf("%s: release %q: %w", l.lock, l.key, err)
	case n == 0:
		return locks.ErrNotHeld
	}
	return nil
}
