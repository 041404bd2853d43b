// Package redlock has RedLock, the algorithm of the Redis documentation for locks on several independent masters: a client
// holds the lock if a majority of the masters has granted it within the time of the lease.
//
// RedLock depends on time. Masters count the lease by their own clocks. A master that restarts without its data votes again,
// so a crashed master must stay down for longer than the longest ttl. A lease also ends while its holder is paused.
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
	// Drift is how much two clocks may differ at the end of a lease, as a share of the ttl. Two milliseconds are added for
	// short leases. 0 means 0.01.
	Drift float64
	// NodeTimeout is how long one node may take to answer. It must be far below the ttl, because a slow node uses up the
	// lease. 0 means a twentieth of the ttl, from 5 ms to 100 ms.
	NodeTimeout time.Duration
	// NoValidity is for mutants: a majority is enough however long it took, and the whole ttl counts from then on.
	NoValidity bool
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
		l := &redLock{options: o}
		for _, at := range c.Store.Nodes() {
			l.nodes = append(l.nodes, node{name: at.Name, client: goredis.ConnectNode(c.Store, at)})
		}
		return &plain.Lock{
			Closer: l, Name: "redlock", Tokens: plain.NewTokens(c), Drift: l.drift, Take: l.take, Extend: l.extend, Free: l.release,
		}, nil
	}
}

// redLock is one client's handle.
type redLock struct {
	options Options
	nodes   []node
}

// take requests the lock from all nodes.
//
// It returns a refusal only if every node answered both the SET and the DEL that cleans up after it. An unanswered SET may
// still arrive and leave a key behind, so the lease can be released again.
func (l *redLock) take(ctx context.Context, lease *plain.Lease, ttl time.Duration) (bool, error) {
	drift := l.drift(ttl)
	if ttl <= drift && !l.options.NoValidity {
		return false, fmt.Errorf("%w: a ttl of %v; the allowance for drift alone is %v", locks.ErrUnsupported, ttl, drift)
	}
	claims := l.ask(ctx, Claim, l.nodeTimeout(ttl), func(ctx context.Context, n node) (bool, error) {
		return goredis.Claim(ctx, n.client, lease.Key, lease.Token, ttl)
	})
	if l.options.NoValidity {
		lease.Moved(time.Now().Add(ttl - drift))
	}
	lease.Nodes = claims.yesOf(l.nodes)
	if l.outcome(claims) == agreed && time.Now().Before(lease.Until()) {
		return true, nil
	}
	frees := l.free(ctx, CleanUp, lease)
	if err := errors.Join(claims.errors(l.nodes), frees.errors(l.nodes)); err != nil {
		return false, fmt.Errorf("acquire %q: %d of %d agreed: %w", lease.Key, claims.yes(), len(l.nodes), err)
	}
	return false, nil
}

// extend requests a new end. It succeeds like an acquire: by a majority, with some of the new time left.
func (l *redLock) extend(ctx context.Context, lease *plain.Lease, ttl time.Duration) (bool, error) {
	end := time.Now().Add(ttl - l.drift(ttl))
	extends := l.ask(ctx, Extend, l.nodeTimeout(ttl), func(ctx context.Context, n node) (bool, error) {
		return goredis.Extend(ctx, n.client, lease.Key, lease.Token, ttl)
	})
	inTime := l.options.NoValidity || time.Now().Before(end)
	switch result := l.outcome(extends); {
	case result == refused:
		return false, nil
	case !inTime:
		return false, fmt.Errorf("the answers took longer than the new lease of %v", ttl)
	case result == agreed:
		return true, nil
	}
	return false, fmt.Errorf("%d of %d did: %w", extends.yes(), len(l.nodes), extends.errors(l.nodes))
}

// release frees the lock on all nodes.
//
// The lock is not held if so many nodes deny it that the others cannot be a majority, whatever the silent nodes would
// answer. A SET that is still on its way does not change that: it can add a key that expires, but no grant, because its
// answer is not counted any more.
func (l *redLock) release(ctx context.Context, lease *plain.Lease) (bool, error) {
	frees := l.free(ctx, Free, lease)
	if result := l.outcome(frees); result != open {
		return result == agreed, nil
	}
	return false, fmt.Errorf("%d of %d did: %w", frees.yes(), len(l.nodes), frees.errors(l.nodes))
}

// free deletes the token from all nodes. It ignores the caller's cancellation: otherwise the keys of an attempt whose
// context ended would stay for the whole ttl.
func (l *redLock) free(ctx context.Context, op Op, lease *plain.Lease) answers {
	return l.ask(context.WithoutCancel(ctx), op, l.nodeTimeout(lease.TTL), func(ctx context.Context, n node) (bool, error) {
		return goredis.Disown(ctx, n.client, lease.Key, lease.Token)
	})
}

// Close closes the connections.
func (l *redLock) Close() error {
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.client.Close())
	}
	return errors.Join(errs...)
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
