package mutants

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// The locks of this file are those that people write first. The catalog offers them like any other lock. Each lacks one
// thing that set-nx has, and is careful in everything else, so that a run shows that flaw and no other.

// SetnxExpire returns the opener of setnx-expire:
//
//	acquire  SETNX name 1, then EXPIRE name ttl
//	release  DEL name
//
// A client that dies between the two leaves a lock without an end.
func SetnxExpire() locks.Opener { return open("setnx-expire", setnxExpire) }

// SetDel returns the opener of set-del:
//
//	acquire  SET name 1 NX EX ttl
//	release  DEL name
//
// A holder that wakes after its lease has run out deletes the next one's lock, and a third client gets in.
func SetDel() locks.Opener { return open("set-del", setDel) }

// GetDel returns the opener of get-del:
//
//	acquire  SET name token NX PX ttl
//	release  GET name; if it is the token: DEL name
//
// Between the GET and the DEL the lease can run out and another client get the lock, which the DEL then deletes.
//
// A client that is stopped there for longer than it waits for answers may find, when it wakes, that its time is up and that
// the answer has come; which of the two it sees first is chance. With a long patience it sees the answer.
func GetDel(patience time.Duration) locks.Opener {
	return open("get-del", func(t *token) {
		freeing(getThenDel)(t)
		t.patience = patience
	})
}

// GetsetTime returns the opener of getset-time, from the days before SET NX:
//
//	acquire  SETNX name end; if taken: GET, and if that end has passed: GETSET
//	         name end, held if what it returns is what GET had returned
//	release  DEL name, if the own end has not passed
//
// The end of a lease is a time of its holder's wall clock, and others compare it with theirs. A client whose clock is ahead
// by more than the ttl takes a lock that is held.
func GetsetTime() locks.Opener { return open("getset-time", getsetTime) }

// ownerless is a lock whose key does not tell its owner. After a claim without an answer its client cannot know whether the
// key is its own, so it has no lease to clean up with.
func ownerless(t *token) {
	t.patience, t.Ownerless = 0, true
	freeing(del)(t)
}

func setnxExpire(t *token) {
	ownerless(t)
	t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
		if n, err := t.number(ctx, "setnx", l.Key, "1"); err != nil || n == 0 {
			return false, err
		}
		command, n := expiry(ttl, "expire", "pexpire")
		return true, goredis.Do(ctx, t.redis, command, l.Key, n).Err()
	}
}

func setDel(t *token) {
	ownerless(t)
	t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
		unit, n := expiry(ttl, "ex", "px")
		return t.set(ctx, l.Key, "1", "nx", unit, n)
	}
}

// expiry words a ttl as old programs do: in seconds if it is whole ones.
func expiry(ttl time.Duration, seconds, millis string) (unit string, n int64) {
	if ttl%time.Second == 0 {
		return seconds, int64(ttl / time.Second)
	}
	return millis, ttl.Milliseconds()
}

func getThenDel(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
	owner, err := goredis.Do(ctx, t.redis, "get", l.Key).Text()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil || owner != l.Token {
		return false, err
	}
	return del(ctx, t, l)
}

// getsetTime takes as a token the end of the lease, in Unix milliseconds of the client's wall clock.
//
// A GETSET that came second leaves its own end in the winner's key. That is the algorithm; it moves the end by as much as
// the two were apart.
func getsetTime(t *token) {
	ownerless(t)
	t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
		now := t.now()
		l.Token = strconv.FormatInt(now.Add(ttl).UnixMilli(), 10)
		if n, err := t.number(ctx, "setnx", l.Key, l.Token); err != nil || n == 1 {
			return n == 1, err
		}
		seen, err := goredis.Do(ctx, t.redis, "get", l.Key).Text()
		if errors.Is(err, redis.Nil) {
			return false, nil // released just now; the next try will find it free
		}
		if err != nil {
			return false, err
		}
		end, err := strconv.ParseInt(seen, 10, 64)
		if err != nil {
			return false, fmt.Errorf("the key holds no time: %w", err)
		}
		if end >= now.UnixMilli() {
			return false, nil
		}
		before, err := goredis.Do(ctx, t.redis, "getset", l.Key, l.Token).Text()
		if errors.Is(err, redis.Nil) {
			return true, nil // released in between
		}
		return before == seen, err // or another client took the ended lease first
	}
	t.Free = func(ctx context.Context, l *plain.Lease) (bool, error) {
		if end, err := strconv.ParseInt(l.Token, 10, 64); err != nil || end <= t.now().UnixMilli() {
			return false, err // the key is left to the client that takes it over
		}
		return del(ctx, t, l)
	}
}
