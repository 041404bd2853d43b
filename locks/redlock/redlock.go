// Package redlock has RedLock, the algorithm that the Redis documentation gives
// for locks on several independent masters: a client that gets a
// majority of them within the lease's time holds the lock.
//
// It depends on time. Masters count the lease by their own clocks, and a master
// that restarts without its data votes a second time, so a crashed node must stay
// down for longer than the longest ttl. And like every lease it ends even if its
// holder is paused.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// Options are the settings of RedLock. The zero value is the algorithm as documented.
type Options struct {
	// Drift is how far, as a share of the ttl, two clocks may part while a lease
	// lasts; two milliseconds are added to it for short ones. 0 means 0.01.
	Drift float64
	// NoValidity accepts a majority however long it took, and counts the
	// whole ttl from then on. It is wrong: the first key may have expired before the
	// last was set.
	NoValidity bool
	// NodeTimeout is how long one node may take to answer. It must be far below the
	// ttl, or a single slow node uses the lease up. 0 means a twentieth of the ttl, at
	// least 5 ms and at most 100 ms.
	NodeTimeout time.Duration
	// Quorum and Ask are for mutants. Quorum returns how many of n nodes, of which some answered, are
	// enough; nil: a majority of n. Ask takes a step on the i-th node; nil: it calls the step once.
	Quorum func(n, answered int) int
	Ask    func(ctx context.Context, op Op, i int, step func() (bool, error)) (bool, error)
}

const (
	driftDefault = 0.01
	driftFixed   = 2 * time.Millisecond
)

// New returns the opener of redlock:
//
//	acquire  on all nodes at once: SET name token NX PX ttl; held if a majority
//	         agreed and some of ttl - elapsed - drift is left; else release
//	renew    on all nodes at once, by script; the same majority, the same sum
//	release  on all nodes at once, by script, also those that refused or were silent
//
// It does not wait, and knows neither re-entry nor a default ttl.
func New(o Options) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		if c.Store.Topology != locks.Independent {
			return nil, fmt.Errorf("redlock: %w: topology %q; it needs independent masters", locks.ErrUnsupported, c.Store.Topology)
		}
		if len(c.Store.Nodes()) == 0 {
			return nil, errors.New("redlock: the store names no masters")
		}
		l := &redLock{options: o, tokens: plain.NewTokens(c)}
		for _, at := range c.Store.Nodes() {
			l.nodes = append(l.nodes, node{name: at.Name, client: goredis.ConnectNode(c.Store, at)})
		}
		return l, nil
	}
}

// redLock is one client's handle.
type redLock struct {
	options Options
	nodes   []node
	tokens  *plain.Tokens
}

var _ locks.Locker = (*redLock)(nil)

// Acquire tries once.
//
// A refused try returns ErrTaken, which is definite, only if every node answered both the
// SET and the DEL that cleans up after it. An unanswered SET may still
// arrive and leave a key behind; the returned lease can then be released again.
func (l *redLock) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, err := plain.Key(r)
	if err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	if drift := l.drift(ttl); ttl <= drift && !l.options.NoValidity {
		return nil, fmt.Errorf("redlock: %w: a ttl of %v; the allowance for drift alone is %v", locks.ErrUnsupported, ttl, drift)
	}
	lease := &lease{lock: l, key: key, token: l.tokens.Next(), limit: l.nodeTimeout(ttl)}

	start := time.Now()
	claims := l.ask(ctx, Claim, lease.limit, func(ctx context.Context, n node) (bool, error) {
		return goredis.Claim(ctx, n.client, key, lease.token, ttl)
	})
	end, inTime := l.end(start, ttl)
	lease.End = plain.NewEnd(end)
	lease.granted = claims.who(l.nodes)
	if l.outcome(claims) == agreed && inTime {
		return lease, nil
	}

	frees := lease.free(ctx, CleanUp)
	if err := errors.Join(claims.errors(l.nodes), frees.errors(l.nodes)); err != nil {
		return lease, fmt.Errorf("redlock: acquire %q: %d of %d agreed: %w", key, claims.yes(), len(l.nodes), err)
	}
	return nil, locks.ErrTaken
}

// Close closes the connections. Held locks stay held until they expire.
func (l *redLock) Close() error {
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.client.Close())
	}
	return errors.Join(errs...)
}

// end returns the end of a lease of ttl that was requested at start, and whether it is in the
// future. The time of the requests counts, because the first node may have counted from start.
func (l *redLock) end(start time.Time, ttl time.Duration) (time.Time, bool) {
	now := time.Now()
	if l.options.NoValidity {
		return now.Add(ttl - l.drift(ttl)), true
	}
	end := start.Add(ttl - l.drift(ttl))
	return end, now.Before(end)
}

func (l *redLock) drift(ttl time.Duration) time.Duration {
	factor := l.options.Drift
	if factor == 0 {
		factor = driftDefault
	}
	return time.Duration(float64(ttl)*factor) + driftFixed
}

func (l *redLock) nodeTimeout(ttl time.Duration) time.Duration {
	if l.options.NodeTimeout > 0 {
		return l.options.NodeTimeout
	}
	return min(max(ttl/20, 5*time.Millisecond), 100*time.Millisecond)
}
