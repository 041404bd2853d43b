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
	children int // how many there are; parts may be fewer
	parts    []part
	released chan struct{} // closed by the first Release; nil if nobody waits for it

	mu    sync.Mutex
	begun bool
	ended bool
	held  int // parts that a release has found held
	gone  int // children that were not, or were never taken
}

type (
	multiBounded struct {
		*multiLease
		*plain.End
	}
	multiKept    struct{ *multiLease }
	multiWatched struct {
		multiKept
		lost chan struct{}
	}
)

var (
	_ locks.Lease   = (*multiLease)(nil)
	_ locks.Placed  = (*multiLease)(nil)
	_ locks.Bounded = (*multiBounded)(nil)
	_ locks.Renewer = (*multiBounded)(nil)
	_ locks.Renewed = multiKept{}
	_ locks.Watched = multiWatched{}
)

// Nodes names the masters that granted.
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

// Release gives the locks back in turn. A MultiLock stops at the first that fails,
// and the rest stays locked until their leases end, or for as long as the watchdog
// lives (hazard R-27); another Release goes on with them. A RedLock tries all.
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
		// A part that nobody was sure of may well not be held.
		if err != nil && !(p.doubts && errors.Is(err, locks.ErrNotHeld)) {
			l.ended = len(l.parts) == 0
			return fmt.Errorf("%s: release %s: %w", l.multi.name, p.child, err)
		}
	}
	l.ended = true
	// An acquire that nobody was sure of may have taken some: whoever cleans up after it
	// has not held the lock, and must not be told that it is released now.
	if l.held < l.children {
		return locks.ErrNotHeld
	}
	return nil
}

// releaseAll counts like a majority lock: held if a majority was, not held if so
// many were not that there was none, else unknown. (Redisson says nothing at all.) What was
// answered once counts for good; a repeated release asks those that were not.
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
			// Who is told that it went well does not ask again. What the end of the context has
			// kept on the other masters would stand in everybody's way there for a lease.
			l.giveBack(ctx)
		}
		return nil
	case l.children-l.gone < quorum:
		l.ended = true
		return locks.ErrNotHeld
	}
	return fmt.Errorf("%s: release: %w", l.multi.name, errors.Join(errs...))
}

// giveBack releases what was taken so far. Only what could not be given back for
// certain is left in parts.
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

// Renew moves the end of all locks to ttl from now: of all of a MultiLock, of a
// majority of a RedLock.
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
	return fmt.Errorf("%s: renew: %d of %d did: %w", l.multi.name, held, l.children, errors.Join(errs...))
}

// Lease is what the watchdogs renew it by.
func (l multiKept) Lease() time.Duration { return l.multi.o.Watchdog }

// Lost is closed when so many of the locks are known to be lost that the rest is
// not enough.
func (l multiWatched) Lost() <-chan struct{} { return l.lost }

// kept is the lease of locks that watchdogs renew, one watchdog for each store.
func (m *multi) kept(got *multiLease) locks.Lease {
	if m.o.Silent {
		return multiKept{got}
	}
	enough := got.children
	if m.majority {
		enough = got.children/2 + 1
	}
	got.released = make(chan struct{})
	l := multiWatched{multiKept{got}, make(chan struct{})}
	losses := make(chan struct{})
	held := 0
	for _, p := range got.parts {
		w, ok := p.lease.(locks.Watched)
		if !ok {
			continue
		}
		held++
		go func() {
			select {
			case <-w.Lost():
				select {
				case losses <- struct{}{}:
				case <-got.released:
				case <-p.store.life.Done():
				}
			case <-got.released:
			case <-p.store.life.Done():
			}
		}()
	}
	end := m.stores[0].life
	go func() {
		for ; held >= enough; held-- {
			select {
			case <-losses:
			case <-got.released:
				return
			case <-end.Done():
				return
			}
		}
		close(l.lost)
	}()
	return l
}
