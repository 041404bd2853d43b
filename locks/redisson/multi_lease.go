package redisson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// multiLease is several holds that count as one.
type multiLease struct {
	multi    *multi
	children int // number of children; there may be fewer parts
	parts    []part
	released chan struct{} // closed by the first Release; may be nil

	mu    sync.Mutex
	begun bool
	ended bool
	held  int // parts that were held when they were released
	gone  int // children that were not held, or were never taken
}

type (
	multiBounded struct {
		*multiLease
		*plain.End
	}
	multiWatched struct {
		*multiLease
		lost chan struct{} // nil with Options.Silent
	}
)

var (
	_ locks.Lease   = (*multiLease)(nil)
	_ locks.Placed  = (*multiLease)(nil)
	_ locks.Bounded = (*multiBounded)(nil)
	_ locks.Renewer = (*multiBounded)(nil)
	_ locks.Renewed = multiWatched{}
	_ locks.Watched = multiWatched{}
)

// Nodes returns the masters that granted.
func (l *multiLease) Nodes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, p := range l.parts {
		if name := p.store.name; name != "" && !p.doubts && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Release releases the locks one after the other. A MultiLock stops at the first failure, and the rest stays locked until
// the leases end, or as long as the watchdog renews them (hazard R-27); another Release continues with the rest. A RedLock
// tries all.
func (l *multiLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	if !l.begun {
		l.begun = true
		l.gone = l.children - len(l.parts)
		if l.released != nil {
			close(l.released)
		}
	}
	if l.multi.majority {
		return l.releaseAll(ctx)
	}
	for len(l.parts) > 0 {
		p := l.parts[0]
		err := p.lease.Release(ctx)
		if err == nil {
			l.held++
		}
		if err == nil || errors.Is(err, locks.ErrNotHeld) {
			l.parts = l.parts[1:]
		}
		// A part with an unknown outcome may not be held.
		if err != nil && !(p.doubts && errors.Is(err, locks.ErrNotHeld)) {
			l.ended = len(l.parts) == 0
			return fmt.Errorf("%s: release %s: %w", l.multi.name, p.child, err)
		}
	}
	l.ended = true
	// An acquire with an unknown outcome may have taken some parts. Its client did not hold the lock, so the release must
	// not succeed.
	if l.held < l.children {
		return locks.ErrNotHeld
	}
	return nil
}

// releaseAll counts like a majority lock: held if a majority was held, not held if a majority is impossible, otherwise
// unknown. (Redisson returns nothing.) Answers are final, and a repeated release requests only those that are missing.
func (l *multiLease) releaseAll(ctx context.Context) error {
	quorum := l.children/2 + 1
	var errs []error
	l.parts = slices.DeleteFunc(l.parts, func(p part) bool {
		switch err := p.lease.Release(ctx); {
		case err == nil:
			l.held++
		case errors.Is(err, locks.ErrNotHeld):
			l.gone++
		default:
			errs = append(errs, fmt.Errorf("%s: %w", p.child, err))
			return false
		}
		return true
	})
	switch {
	case l.held >= quorum:
		l.ended = true
		if ctx.Err() != nil {
			// After a success the caller does not repeat the release. Locks on the other masters, which the
			// end of the context has kept, would block other clients for a lease.
			l.giveBack(ctx)
		}
		return nil
	case l.children-l.gone < quorum:
		l.ended = true
		return locks.ErrNotHeld
	}
	return fmt.Errorf("%s: release: %w", l.multi.name, errors.Join(errs...))
}

// giveBack releases the parts that were taken. It keeps those whose release is uncertain.
func (l *multiLease) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	l.parts = slices.DeleteFunc(l.parts, func(p part) bool {
		err := p.lease.Release(ctx)
		return err == nil || errors.Is(err, locks.ErrNotHeld)
	})
	for i := range l.parts {
		l.parts[i].doubts = true
	}
}

// Renew extends all locks of a MultiLock, or a majority of a RedLock, to ttl from now.
func (l *multiBounded) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("%s: renew: %w", l.multi.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	end := time.Now().Add(ttl)
	need := l.children
	if l.multi.majority {
		need = l.children/2 + 1
	}
	held, gone := 0, l.children-len(l.parts)
	var errs []error
	for _, p := range l.parts {
		r, ok := p.lease.(locks.Renewer)
		if !ok {
			continue
		}
		switch err := r.Renew(ctx, ttl); {
		case err == nil:
			held++
		case errors.Is(err, locks.ErrNotHeld):
			gone++
		default:
			errs = append(errs, fmt.Errorf("%s: %w", p.child, err))
		}
	}
	switch {
	case held >= need:
		l.Moved(end)
		return nil
	case l.children-gone < need:
		l.End.Lost()
		return locks.ErrNotHeld
	}
	l.Doubted(end)
	return fmt.Errorf("%s: renew: %d of %d renewed: %w", l.multi.name, held, l.children, errors.Join(errs...))
}

// Lease returns the lease that the watchdogs renew.
func (l multiWatched) Lease() time.Duration { return l.multi.o.Watchdog }

// Lost is closed when too many of the locks are lost.
func (l multiWatched) Lost() <-chan struct{} { return l.lost }

// kept returns the lease of locks that watchdogs renew, one for each store.
func (m *multi) kept(got *multiLease) locks.Lease {
	if m.o.Silent {
		return multiWatched{got, nil}
	}
	enough := got.children
	if m.majority {
		enough = got.children/2 + 1
	}
	got.released = make(chan struct{})
	l := multiWatched{got, make(chan struct{})}
	var mu sync.Mutex
	held := len(got.parts)
	for _, p := range got.parts {
		w, ok := p.lease.(locks.Watched)
		if !ok {
			continue
		}
		go func() {
			select {
			case <-w.Lost():
				mu.Lock()
				defer mu.Unlock()
				if held--; held == enough-1 {
					close(l.lost)
				}
			case <-got.released:
			case <-p.store.life.Done():
			}
		}()
	}
	return l
}
