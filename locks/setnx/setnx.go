// Package setnx has the locks that the documentation of Redis recommends for one server: a key that is set if absent, with
// an expiry and a token that identifies its owner. set-nx is the baseline for all other locks. [NewFenced] adds a number
// that grows with every grant.
//
// The server can forget a grant: a master dies before its replica has received it, a restart loses the data, or a clock
// jumps. Then a second client is granted the lock, and only a fencing token that the guarded resource checks helps.
package setnx

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

var (
	//go:embed fenced.lua
	scripts      embed.FS
	fencedScript = goredis.ReadScript(scripts, "fenced.lua")
)

// New returns the opener of set-nx:
//
//	acquire  SET name token NX PX ttl
//	renew    script: PEXPIRE if the value is the token
//	release  script: DEL if the value is the token
//
// It does not wait, and has neither re-entry nor a default ttl. An error of the server counts as unknown like a lost reply: a
// lock that guesses which errors mean that nothing happened may return "taken" while it holds.
func New() locks.Opener {
	return opener("set-nx", func(ctx context.Context, c redis.UniversalClient, l *plain.Lease, ttl time.Duration) (bool, error) {
		granted, err := goredis.Claim(ctx, c, l.Key, l.Token, ttl)
		if err != nil {
			err = fmt.Errorf("acquire: %w", err)
		}
		return granted, err
	})
}

// NewFenced returns the opener of set-nx-fenced: set-nx whose grants are counted in the same script, so that the numbers
// have the order of the grants. The guarded resource can refuse a number below the highest that it has seen, and so the
// write of a holder that was paused beyond the end of its lease.
//
// The counter of lock "a" is the key "{a}:token". It never expires: if it started again at 1, every later holder would be
// refused as stale.
func NewFenced() locks.Opener {
	return opener("set-nx-fenced", func(ctx context.Context, c redis.UniversalClient, l *plain.Lease, ttl time.Duration) (bool, error) {
		counter, err := counterKey(l.Key)
		if err != nil {
			return false, err
		}
		number, err := fencedScript.Run(ctx, c, []string{l.Key, counter}, l.Token, ttl.Milliseconds())
		if err != nil {
			return false, fmt.Errorf("acquire %q: %w", l.Key, err)
		}
		l.Number = uint64(number)
		return number > 0, nil
	})
}

// opener returns the opener of a lock whose keys hold the token of their owner.
func opener(name string, take func(context.Context, redis.UniversalClient, *plain.Lease, time.Duration) (bool, error)) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.Connect(c.Store)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &plain.Lock{
			Closer: client, Name: name, Tokens: plain.NewTokens(c),
			Take: func(ctx context.Context, l *plain.Lease, ttl time.Duration) (bool, error) {
				return take(ctx, client, l, ttl)
			},
			Extend: func(ctx context.Context, l *plain.Lease, ttl time.Duration) (bool, error) {
				return goredis.Extend(ctx, client, l.Key, l.Token, ttl)
			},
			Free: func(ctx context.Context, l *plain.Lease) (bool, error) {
				return goredis.Disown(ctx, client, l.Key, l.Token)
			},
		}, nil
	}
}

// counterKey returns the key of the counter, which a cluster keeps in the slot of the lock. The slot depends on the part
// between the first "{" and the next "}", or on the whole name if there is no such part. Names with other braces are
// refused: the slot of the lock "a}b" is that of the whole name, and "{a}b}:token" is in the slot of "a".
func counterKey(key string) (string, error) {
	if !strings.ContainsAny(key, "{}") {
		return "{" + key + "}:token", nil
	}
	if _, rest, ok := strings.Cut(key, "{"); ok && strings.Index(rest, "}") > 0 {
		return key + ":token", nil
	}
	return "", fmt.Errorf("%w: the name %q has braces that mark no part of it; leave them out or write {part}", locks.ErrUnsupported, key)
}
