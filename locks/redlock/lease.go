package redlock

import (
	"context"
	"fmt"
	"time"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// lease is one hold: a token on a majority of the nodes, until its End.
type lease struct {
	*plain.End
	lock    *redLock
	key     string
	token   string
	limit   time.Duration // for one node to answer
	granted []string
}

var (
	_ locks.Lease   = (*lease)(nil)
	_ locks.Renewer = (*lease)(nil)
	_ locks.Bounded = (*lease)(nil)
	_ locks.Placed  = (*lease)(nil)
)

// Nodes names the nodes that granted.
func (l *lease) Nodes() []string { return l.granted }

// Release frees the lock on all nodes.
//
// It is not held if so many nodes deny it that the others cannot be a majority, whatever the
// silent ones would answer. A SET that is still on its way does not change that: it can add a key
// that expires, but no grant, because its answer is not counted any more.
func (l *lease) Release(ctx context.Context) error {
	frees := l.free(ctx, Free)
	switch l.lock.outcome(frees) {
	case agreed:
		return nil
	case refused:
		return locks.ErrNotHeld
	}
	return fmt.Errorf("redlock: release %q: %d of %d did: %w", l.key, frees.yes(), len(l.lock.nodes), frees.errors(l.lock.nodes))
}

// Renew asks for ttl from now. It succeeds like an acquire: by a majority, with
// some of the new time left.
func (l *lease) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("redlock: renew %q: %w", l.key, err)
	}
	start := time.Now()
	extends := l.lock.ask(ctx, Extend, l.lock.nodeTimeout(ttl), func(ctx context.Context, n node) (bool, error) {
		return goredis.Extend(ctx, n.client, l.key, l.token, ttl)
	})
	end, inTime := l.lock.end(start, ttl)
	switch result := l.lock.outcome(extends); {
	case result == agreed && inTime:
		l.Moved(end)
		return nil
	case result == refused:
		l.Lost()
		return locks.ErrNotHeld
	}
	l.Doubted(end)
	if !inTime {
		return fmt.Errorf("redlock: renew %q: the answers took longer than the new lease of %v", l.key, ttl)
	}
	return fmt.Errorf("redlock: renew %q: %d of %d did: %w", l.key, extends.yes(), len(l.lock.nodes), extends.errors(l.lock.nodes))
}

// free deletes the token from all nodes. It ignores the caller's cancellation: a try whose
// context ended would otherwise leave its keys behind for the whole ttl.
func (l *lease) free(ctx context.Context, op Op) answers {
	return l.lock.ask(context.WithoutCancel(ctx), op, l.limit, func(ctx context.Context, n node) (bool, error) {
		return goredis.Disown(ctx, n.client, l.key, l.token)
	})
}
