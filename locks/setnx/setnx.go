// Package setnx has the locks that Redis's own documentation recommends for one
// server: a key that is set if absent, with an expiry and a token by which its
// owner is known. set-nx is the base line for all other locks; [NewFenced] adds a
// number that grows with every grant.
//
// What they cannot know is what the server forgets. A master that dies before its
// replica has heard of a grant, a restart without persistence, a clock that jumps:
// each lets a second client in, and only a fencing token checked by the guarded
// thing itself helps then.
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

// New returns the opener of set-nx:
//
//	acquire  SET name token NX PX ttl
//	renew    script: PEXPIRE if the value is the token
//	release  script: DEL if the value is the token
//
// It does not wait, and knows neither re-entry nor a default ttl.
func New() locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.Connect(c.Store)
		if err != nil {
			return nil, fmt.Errorf("set-nx: %w", err)
		}
		return &setNX{client: client, tokens: plain.NewTokens(c)}, nil
	}
}

// setNX is one client's handle.
type setNX struct {
	client redis.UniversalClient
	tokens *plain.Tokens
}

var _ locks.Locker = (*setNX)(nil)

// Acquire tries once. An error of the server counts as unknown like a lost reply:
// which errors mean that nothing was done is for the server to know, and a lock
// that guesses wrong says "taken" while it holds.
func (l *setNX) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("set-nx: %w", err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("set-nx: %w", err)
	}
	// The lease is counted from before the request: the server counts from some
	// moment after it, so the client never believes for longer than the key lives.
	start := time.Now()
	lease := &owned{End: plain.NewEnd(start.Add(ttl)), lock: "set-nx", client: l.client, key: key, token: l.tokens.Next()}
	granted, err := goredis.Claim(ctx, l.client, key, lease.token, ttl)
	switch {
	case err != nil:
		return lease, fmt.Errorf("set-nx: acquire: %w", err)
	case !granted:
		return nil, locks.ErrTaken
	}
	return lease, nil
}

// Close closes the connections. What is held stays held until it expires.
func (l *setNX) Close() error { return l.client.Close() }
