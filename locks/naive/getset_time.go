package naive

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// NewGetsetTime returns the opener of getset-time, from the days before SET NX:
//
//	acquire  SETNX name end; if taken: GET, and if that end has passed: GETSET
//	         name end, held if what it returns is what GET had returned
//	release  DEL name, if the own end has not passed
//
// The end of a lease is a time of its holder's wall clock, and others compare it
// with theirs. Whose clock is ahead by more than the ttl takes a lock that is held.
func NewGetsetTime() locks.Opener {
	return opener("getset-time", func(client redis.UniversalClient, c locks.Client) locks.Locker {
		return &getsetTime{client: client, now: c.Clock()}
	})
}

type getsetTime struct {
	client redis.UniversalClient
	now    func() time.Time // the wall clock; tests set it wrong
}

var _ locks.Locker = (*getsetTime)(nil)

// Acquire tries once. A command that is not answered makes the outcome unknown.
//
// A GETSET that came second leaves its own end in the winner's key. That is the
// algorithm; it moves the end by as much as the two were apart.
func (l *getsetTime) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, ttl, err := asked("getset-time", r)
	if err != nil {
		return nil, err
	}
	now := l.now()
	end := now.Add(ttl)
	value := strconv.FormatInt(end.UnixMilli(), 10)
	lease := &getsetLease{
		// What its user is told of the lease counts from the steady clock, as everywhere.
		delLease: delLease{End: plain.NewEnd(time.Now().Add(ttl)), lock: "getset-time", client: l.client, key: key},
		end:      end.UnixMilli(),
		now:      l.now,
	}

	set, err := l.client.Do(ctx, "setnx", key, value).Int64()
	switch {
	case err != nil:
		// Without a lease: whose the key is now, nobody knows, and DEL does not ask.
		return nil, fmt.Errorf("getset-time: acquire %q: setnx: %w", key, err)
	case set == 1:
		return lease, nil
	}

	seen, err := l.client.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, locks.ErrTaken // released just now; the next try will find it free
	case err != nil:
		return nil, fmt.Errorf("getset-time: acquire %q: get: %w", key, err)
	}
	if theirs, err := strconv.ParseInt(seen, 10, 64); err != nil {
		return nil, fmt.Errorf("getset-time: acquire %q: the key holds no time: %w", key, err)
	} else if theirs >= now.UnixMilli() {
		return nil, locks.ErrTaken
	}

	before, err := l.client.Do(ctx, "getset", key, value).Text()
	switch {
	case errors.Is(err, redis.Nil):
		return lease, nil // released in between, and now ours
	case err != nil:
		return nil, fmt.Errorf("getset-time: acquire %q: getset: %w", key, err)
	case before != seen:
		return nil, locks.ErrTaken // somebody else took the ended lease first
	}
	return lease, nil
}

// Close closes the connections.
func (l *getsetTime) Close() error { return l.client.Close() }

// getsetLease deletes the key only while it may believe that it is its own.
type getsetLease struct {
	delLease
	end int64 // Unix milliseconds of the holder's wall clock
	now func() time.Time
}

var (
	_ locks.Lease   = (*getsetLease)(nil)
	_ locks.Bounded = (*getsetLease)(nil)
)

// Release deletes the key if the lease's own end is still ahead.
func (l *getsetLease) Release(ctx context.Context) error {
	if l.end <= l.now().UnixMilli() {
		return locks.ErrNotHeld // nothing was sent: the key is left to whoever takes it over
	}
	return l.delLease.Release(ctx)
}
