package setnx

import (
	"context"
	_ "embed" // the script
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
	fencedLua    string
	fencedScript = goredis.NewScript("fenced.lua", fencedLua)
)

// NewFenced returns the opener of set-nx-fenced: set-nx whose grants are counted
// in the same script, so that their order is that of their numbers. The guarded
// thing can refuse a number below the highest that it has seen, and so the write
// of a holder that slept through the end of its lease.
//
// The counter of lock "a" is the key "{a}:token". It never expires: were it to
// start again at 1, every later holder would be refused as stale.
func NewFenced() locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.Connect(c.Store)
		if err != nil {
			return nil, fmt.Errorf("set-nx-fenced: %w", err)
		}
		return &setNXFenced{client: client, tokens: plain.NewTokens(c)}, nil
	}
}

// setNXFenced is one client's handle.
type setNXFenced struct {
	client redis.UniversalClient
	tokens *plain.Tokens
}

var _ locks.Locker = (*setNXFenced)(nil)

// Acquire tries once. Errors count as in set-nx.
func (l *setNXFenced) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("set-nx-fenced: %w", err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("set-nx-fenced: %w", err)
	}
	counter, err := counterKey(key)
	if err != nil {
		return nil, fmt.Errorf("set-nx-fenced: %w", err)
	}
	start := time.Now()
	own := owned{End: plain.NewEnd(start.Add(ttl)), lock: "set-nx-fenced", client: l.client, key: key, token: l.tokens.Next()}
	number, err := fencedScript.Run(ctx, l.client, []string{key, counter}, own.token, ttl.Milliseconds())
	switch {
	case err != nil:
		return &own, fmt.Errorf("set-nx-fenced: acquire %q: %w", key, err) // no number, so no fencedLease
	case number == 0:
		return nil, locks.ErrTaken
	}
	return &fencedLease{owned: own, number: uint64(number)}, nil
}

// Close closes the connections. What is held stays held until it expires.
func (l *setNXFenced) Close() error { return l.client.Close() }

// fencedLease is a lease with the number of its grant.
type fencedLease struct {
	owned
	number uint64
}

var (
	_ locks.Lease   = (*fencedLease)(nil)
	_ locks.Renewer = (*fencedLease)(nil)
	_ locks.Bounded = (*fencedLease)(nil)
	_ locks.Fenced  = (*fencedLease)(nil)
)

// Token is the number of the grant.
func (l *fencedLease) Token() uint64 { return l.number }

// counterKey names the counter so that a cluster keeps it in the slot of the lock:
// only what stands between the first "{" and the next "}" counts there, or the
// whole name if nothing does. Names with braces that mark nothing are refused. For
// the lock "a}b", whose slot is that of the whole name, "{a}b}:token" would be
// in the slot of "a".
func counterKey(key string) (string, error) {
	if !strings.ContainsAny(key, "{}") {
		return "{" + key + "}:token", nil
	}
	if _, rest, ok := strings.Cut(key, "{"); ok && strings.Index(rest, "}") > 0 {
		return key + ":token", nil
	}
	return "", fmt.Errorf("%w: the name %q has braces that mark no part of it; leave them out or write {part}", locks.ErrUnsupported, key)
}
