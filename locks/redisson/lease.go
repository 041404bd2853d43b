package redisson

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// lease is one hold. Its interfaces depend on the request:
//
//	lease    a hold whose acquire has an unknown outcome
//	bounded  with a ttl: Bounded and Renewer
//	watched  without a ttl: Renewed and Watched
//
// and each of the last two with a token as well.
type lease struct {
	locker   *locker
	hold     *hold
	granted  bool
	dog      *watchdog
	dogOwner string

	mu     sync.Mutex
	begun  bool // a release was sent
	ended  bool // a release was answered
	doubts int  // number of requests without an answer
}

type (
	bounded struct {
		*lease
		*plain.End
	}
	watched struct {
		*lease
		lost <-chan struct{} // nil with Options.Silent
	}
	boundedToken struct {
		*bounded
		token
	}
	watchedToken struct {
		*watched
		token
	}
	token uint64
)

var (
	_ locks.Lease   = (*lease)(nil)
	_ locks.Bounded = (*bounded)(nil)
	_ locks.Renewer = (*bounded)(nil)
	_ locks.Watched = (*watched)(nil)
	_ locks.Renewed = (*watched)(nil)
	_ locks.Fenced  = boundedToken{}
	_ locks.Fenced  = watchedToken{}
)

// withToken adds the fencing token to a lease, if there is one.
func withToken(l locks.Lease, n uint64) locks.Lease {
	if n == 0 {
		return l
	}
	switch l := l.(type) {
	case *bounded:
		return boundedToken{l, token(n)}
	case *watched:
		return watchedToken{l, token(n)}
	}
	return l
}

// Token returns the number of the grant.
func (t token) Token() uint64 { return uint64(t) }

// Lease returns the length of the lease that the watchdog renews.
func (l *watched) Lease() time.Duration { return l.hold.lease }

// Lost is closed when the watchdog has found that another client holds the lock, or when no
// renewal has succeeded for a whole lease.
func (l *watched) Lost() <-chan struct{} { return l.lost }

// Release releases the hold. It repeats the request with the same id until a server answers. The answer is final.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return locks.ErrNotHeld
	}
	if !l.begun {
		l.begun = true
		if l.dog != nil {
			// A failed release must not leave a renewal behind that keeps the lock forever (hazard R-10).
			l.dog.remove(l.hold.key, l.dogOwner)
		}
	}
	if !l.granted {
		if err := l.locker.leaveQueue(ctx, l.hold); err != nil {
			return l.fault(err)
		}
	}
	for attempt := 0; ; attempt++ {
		held, err := l.locker.kind.release(ctx, l.locker, l.hold)
		if err == nil {
			return l.answered(held)
		}
		l.doubts++
		if attempt >= l.locker.o.Retries || !worthRetrying(err) || l.locker.pause(ctx, attempt) != nil {
			return l.fault(err)
		}
	}
}

// answered ends the lease. "Not held" is definite only if every request was answered: without latches, an unanswered
// request may have released the hold.
func (l *lease) answered(held bool) error {
	l.ended = true
	if !l.locker.o.NoLatch && held {
		l.locker.latches.add(l.hold.latch)
	}
	switch {
	case held:
		return nil
	case l.doubts > 0:
		return l.fault(fmt.Errorf("it was no longer held; %d earlier requests were not answered and may have released it", l.doubts))
	}
	return locks.ErrNotHeld
}

func (l *lease) fault(err error) error {
	if l.locker.life.Err() != nil || errors.Is(err, redis.ErrClosed) {
		err = fmt.Errorf("%w: %w", plain.ErrClosed, err)
	}
	return fmt.Errorf("%s: release %q: %w", l.locker.name, l.hold.key, err)
}

// worthRetrying reports whether a repeated release may succeed: no server
// answered, or the server cannot serve right now.
func worthRetrying(err error) bool {
	var said redis.Error
	if !errors.As(err, &said) || errors.Is(err, redis.ErrClosed) {
		return !errors.Is(err, redis.ErrClosed) && !errors.Is(err, errNoReplica)
	}
	for _, prefix := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "NOREPLICAS"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// pause sleeps before a repetition. It fails if the context ends or the handle is closed.
func (l *locker) pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(l.o.retryDelay(attempt, l.draw))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-l.life.Done():
	}
	// On a busy machine both may have happened.
	if l.life.Err() != nil {
		return plain.ErrClosed
	}
	return ctx.Err()
}

// Renew extends the lease to ttl from now if its owner still holds the lock.
func (l *bounded) Renew(ctx context.Context, ttl time.Duration) error {
	ttl, err := plain.TTL(ttl)
	if err != nil {
		return fmt.Errorf("%s: renew %q: %w", l.locker.name, l.hold.key, err)
	}
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if ended {
		return locks.ErrNotHeld
	}
	dog, owner := l.locker.kind.renewed(l.locker, l.hold)
	end := time.Now().Add(ttl)
	held, err := dog.script.RunList(ctx, l.locker.client, []string{l.hold.key}, append([]any{ttl.Milliseconds()}, dog.args(l.hold.key, owner)...)...)
	switch {
	case err != nil:
		l.Doubted(end)
		return fmt.Errorf("%s: renew %q: %w", l.locker.name, l.hold.key, err)
	case len(held) != 1 || held[0] == 0:
		l.End.Lost()
		return locks.ErrNotHeld
	}
	l.Moved(end)
	return nil
}
