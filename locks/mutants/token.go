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

// token is a lock of one key with an owner's token, as package setnx has it, made of steps. A
// wrong lock changes one of them.
type token struct {
	claim  func(ctx context.Context, t *tokenClient, l *tokenLease, ttl time.Duration) (bool, error)
	disown func(ctx context.Context, t *tokenClient, l *tokenLease) (bool, error)
	// end is the end of a lease that was requested at start, as the holder sees it.
	end func(start time.Time, ttl time.Duration) time.Time
	// value is the value of the key; fresh is a new token.
	value func(fresh string) string
	// key is the key of a lock in the server.
	key func(t *tokenClient, name string) string
	// doubt is the result of an unanswered claim.
	doubt func(l *tokenLease, err error) (locks.Lease, error)
	// patience is how much longer than usual it waits for an answer.
	patience time.Duration
	// fence returns the number of a grant; nil for a lock without numbers.
	fence func(ctx context.Context, t *tokenClient, l *tokenLease) (uint64, error)
	// renew extends a lease; nil for a lock without renewals.
	renew func(ctx context.Context, t *tokenClient, l *tokenLease, ttl time.Duration) (bool, error)
	// unanswered is the result of a renewal that failed with err. It was to move the end to at.
	unanswered func(l *tokenLease, at time.Time, err error) error
}

// right are the steps without a mistake.
func right() token {
	return token{
		claim: func(ctx context.Context, t *tokenClient, l *tokenLease, ttl time.Duration) (bool, error) {
			return goredis.Claim(ctx, t.redis, l.key, l.token, ttl)
		},
		disown: func(ctx context.Context, t *tokenClient, l *tokenLease) (bool, error) {
			return goredis.Disown(ctx, t.redis, l.key, l.token)
		},
		end:   func(start time.Time, ttl time.Duration) time.Time { return start.Add(ttl) },
		value: func(fresh string) string { return fresh },
		key:   func(_ *tokenClient, name string) string { return name },
		doubt: func(l *tokenLease, err error) (locks.Lease, error) { return l, err },

		patience: patience,
	}
}

// tokenClient is one client's handle.
type tokenClient struct {
	token
	name   string // of the lock
	id     int
	redis  redis.UniversalClient
	tokens *plain.Tokens
	now    func() time.Time // the client's wall clock
	grants atomic.Uint64
	mu     sync.Mutex
	count  map[string]int       // see turn
	last   map[string]string    // the token of the last try for a key
	ends   map[string]time.Time // the ends of others' leases, see note
}

// open makes the opener of a token lock of a name with a change.
func open(name string, change func(*token)) func() locks.Opener {
	return func() locks.Opener {
		return func(_ context.Context, c locks.Client) (locks.Locker, error) {
			t := &tokenClient{token: right(), name: name, id: c.ID, tokens: plain.NewTokens(c), now: c.Clock(), count: map[string]int{}, last: map[string]string{}, ends: map[string]time.Time{}}
			change(&t.token)
			client, err := goredis.ConnectPatient(c.Store, t.patience)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			t.redis = client
			return t, nil
		}
	}
}

// Acquire tries once.
func (t *tokenClient) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	name, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	start := time.Now()
	l := &tokenLease{End: plain.NewEnd(t.end(start, ttl)), client: t, key: t.key(t, name), token: t.value(t.tokens.Next())}
	granted, err := t.claim(ctx, t, l, ttl)
	switch {
	case err != nil && granted: // the key is its own, but perhaps not for ttl
		return l, fmt.Errorf("%s: acquire %q: %w", t.name, name, err)
	case err != nil:
		return t.doubt(l, fmt.Errorf("%s: acquire %q: %w", t.name, name, err))
	case !granted:
		return nil, locks.ErrTaken
	}
	l.Moved(t.end(start, ttl))
	if t.renew != nil {
		return &renewableLease{l}, nil
	}
	if t.fence == nil {
		return l, nil
	}
	if l.number == 0 { // not taken by the claim itself
		if l.number, err = t.fence(ctx, t, l); err != nil {
			return l, fmt.Errorf("%s: number %q: %w", t.name, name, err)
		}
	}
	return &fencedLease{l}, nil
}

// Close closes the connections.
func (t *tokenClient) Close() error { return t.redis.Close() }

// turn counts events of a key, from 1.
func (t *tokenClient) turn(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[key]++
	return t.count[key]
}

// again resets the count of a key.
func (t *tokenClient) again(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.count, key)
}

// tried notes the token of the last try for a key.
func (t *tokenClient) tried(l *tokenLease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[l.key] = l.token
}

// lastToken is the token of the last try for a key.
func (t *tokenClient) lastToken(key string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[key]
}

// note notes the end of another's lease, unless one is known.
func (t *tokenClient) note(key string, end time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.ends[key]; !known {
		t.ends[key] = end
	}
}

// due reports whether the noted end of a key has come, and forgets it then.
func (t *tokenClient) due(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, known := t.ends[key]
	if !known || time.Now().Before(end) {
		return false
	}
	delete(t.ends, key)
	return true
}

type tokenLease struct {
	*plain.End
	client     *tokenClient
	key, token string
	number     uint64
}

var (
	_ locks.Lease   = (*tokenLease)(nil)
	_ locks.Bounded = (*tokenLease)(nil)
	_ locks.Fenced  = (*fencedLease)(nil)
	_ locks.Renewer = (*renewableLease)(nil)
)

// Release releases the lock.
func (l *tokenLease) Release(ctx context.Context) error {
	held, err := l.client.disown(ctx, l.client, l)
	switch {
	case err != nil:
		return fmt.Errorf("%s: release %q: %w", l.client.name, l.key, err)
	case !held:
		return locks.ErrNotHeld
	}
	return nil
}

type fencedLease struct{ *tokenLease }

// Token is the number of the grant.
func (l *fencedLease) Token() uint64 { return l.number }

type renewableLease struct{ *tokenLease }

// Renew moves the end of the lease to ttl from now.
func (l *renewableLease) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return err
	}
	t, end := l.client, time.Now().Add(ttl)
	held, err := t.renew(ctx, t, l.tokenLease, ttl)
	switch {
	case err != nil:
		return t.unanswered(l.tokenLease, end, fmt.Errorf("%s: renew %q: %w", t.name, l.key, err))
	case !held:
		l.Lost()
		return locks.ErrNotHeld
	}
	l.Moved(end)
	return nil
}

// set is SET with more words; ok is false for nil.
func (t *tokenClient) set(ctx context.Context, key, value string, words ...any) (ok bool, err error) {
	err = goredis.Do(ctx, t.redis, append([]any{"set", key, value}, words...)...).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

func (t *tokenClient) number(ctx context.Context, words ...any) (int64, error) {
	return goredis.Do(ctx, t.redis, words...).Int64()
}

// del deletes the key without asking whose it is.
func del(ctx context.Context, t *tokenClient, l *tokenLease) (bool, error) {
	n, err := t.number(ctx, "del", l.key)
	return n == 1, err
}

// claiming is right with another claim.
func claiming(claim func(ctx context.Context, t *tokenClient, l *tokenLease, ttl time.Duration) (bool, error)) func(*token) {
	return func(t *token) { t.claim = claim }
}

// asking is right with another lease asked of the server.
func asking(of func(time.Duration) time.Duration) func(*token) {
	return claiming(func(ctx context.Context, t *tokenClient, l *tokenLease, ttl time.Duration) (bool, error) {
		return goredis.Claim(ctx, t.redis, l.key, l.token, max(of(ttl), time.Millisecond))
	})
}

// disowning is right with another release.
func disowning(disown func(ctx context.Context, t *tokenClient, l *tokenLease) (bool, error)) func(*token) {
	return func(t *token) { t.disown = disown }
}

// numbered adds a right number to each grant, and then the change. INCR comes while the lock is
// held, so grants are numbered in their order.
func numbered(change func(*token)) func(*token) {
	return func(t *token) {
		t.fence = func(ctx context.Context, t *tokenClient, l *tokenLease) (uint64, error) {
			n, err := t.number(ctx, "incr", l.counter())
			return uint64(n), err
		}
		change(t)
	}
}

// renewing adds a right renewal to each lease, and then the change. No client of it waits longer
// than usual for an answer, so that a renewal without an answer fails while its lease still matters.
func renewing(change func(*token)) func(*token) {
	return func(t *token) {
		t.patience = 0
		t.renew = func(ctx context.Context, t *tokenClient, l *tokenLease, ttl time.Duration) (bool, error) {
			return goredis.Extend(ctx, t.redis, l.key, l.token, ttl)
		}
		t.unanswered = func(l *tokenLease, at time.Time, err error) error {
			l.Doubted(at)
			return err
		}
		change(t)
	}
}

func (l *tokenLease) counter() string { return "{" + l.key + "}:token" }
