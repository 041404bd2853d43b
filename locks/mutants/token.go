package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// patience is how much longer than usual the clients wait for an answer. A client that is paused
// between two requests must not count its own pause as the server's.
const patience = 9 * time.Second

// token is one client's handle on the lock of package setnx, made of more steps. A mutant changes one of them.
type token struct {
	plain.Lock
	claim func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error)
	// belief is how long a granted lease lasts from now, as its holder sees it; nil: ttl from the request.
	belief func(ttl time.Duration) time.Duration
	// doubt is the result of an unanswered claim; nil: unknown.
	doubt func(err error) (granted bool, _ error)
	// fence returns the number of a grant; nil for a lock without numbers.
	fence func(ctx context.Context, t *token, l *plain.Lease) (uint64, error)
	// patience is how much longer than usual it waits for an answer.
	patience time.Duration

	id     int
	redis  redis.UniversalClient
	now    func() time.Time // the client's wall clock
	grants atomic.Uint64
	mu     sync.Mutex
	count  map[string]int // see turn
}

// open makes the opener of a token lock of a name with a change.
func open(name string, change func(*token)) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		t := &token{
			Lock: plain.Lock{Name: name, Tokens: plain.NewTokens(c)},
			claim: func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
			},
			patience: patience, id: c.ID, now: c.Clock(), count: map[string]int{},
		}
		t.Take = t.take
		t.Free = func(ctx context.Context, l *plain.Lease) (bool, error) {
			return goredis.Disown(ctx, t.redis, l.Key, l.Token)
		}
		change(t)
		client, err := goredis.ConnectPatient(c.Store, t.patience)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t.redis, t.Closer = client, client
		return t, nil
	}
}

// take claims the key, and then numbers the grant.
func (t *token) take(ctx context.Context, l *plain.Lease, ttl time.Duration) (bool, error) {
	name := l.Key
	granted, err := t.claim(ctx, t, l, ttl)
	switch {
	case err != nil:
		err = fmt.Errorf("acquire %q: %w", name, err)
		if granted || t.doubt == nil { // granted: the key is its own, but perhaps not for ttl
			return granted, err
		}
		return t.doubt(err)
	case !granted:
		return false, nil
	}
	if t.belief != nil {
		l.Moved(time.Now().Add(t.belief(ttl)))
	}
	if t.fence != nil && l.Number == 0 { // not numbered by the claim itself
		if l.Number, err = t.fence(ctx, t, l); err != nil {
			return true, fmt.Errorf("number %q: %w", name, err)
		}
	}
	return true, nil
}

// turn counts events of a key, from 1.
func (t *token) turn(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[key]++
	return t.count[key]
}

// again resets the count of a key.
func (t *token) again(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.count, key)
}

// set is SET with more words; ok is false for nil.
func (t *token) set(ctx context.Context, key, value string, words ...any) (ok bool, err error) {
	err = goredis.Do(ctx, t.redis, append([]any{"set", key, value}, words...)...).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

func (t *token) number(ctx context.Context, words ...any) (int64, error) {
	return goredis.Do(ctx, t.redis, words...).Int64()
}

// del deletes the key without asking whose it is.
func del(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
	n, err := t.number(ctx, "del", l.Key)
	return n == 1, err
}

// claiming changes the claim.
func claiming(claim func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error)) func(*token) {
	return func(t *token) { t.claim = claim }
}

// asking changes the lease that the client requests from the servers.
func asking(of func(time.Duration) time.Duration) func(*token) {
	return claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
		return goredis.Claim(ctx, t.redis, l.Key, l.Token, max(of(ttl), time.Millisecond))
	})
}

// freeing is a change of the release.
func freeing(free func(ctx context.Context, t *token, l *plain.Lease) (bool, error)) func(*token) {
	return func(t *token) {
		t.Free = func(ctx context.Context, l *plain.Lease) (bool, error) { return free(ctx, t, l) }
	}
}

// numbered adds a right number to each grant, and then the change. INCR comes while the lock is
// held, so grants are numbered in their order.
func numbered(change func(*token)) func(*token) {
	return func(t *token) {
		t.fence = func(ctx context.Context, t *token, l *plain.Lease) (uint64, error) {
			n, err := t.number(ctx, "incr", counter(l))
			return uint64(n), err
		}
		change(t)
	}
}

// renewing adds a renewal to each lease, in which extend is the mistake. No client of it waits longer
// than usual for an answer, so that a renewal without an answer fails while its lease still matters.
func renewing(extend func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error)) func(*token) {
	return func(t *token) {
		t.patience = 0
		t.Extend = func(ctx context.Context, l *plain.Lease, ttl time.Duration) (bool, error) {
			return extend(ctx, t, l, ttl)
		}
	}
}

func counter(l *plain.Lease) string { return "{" + l.Key + "}:token" }
