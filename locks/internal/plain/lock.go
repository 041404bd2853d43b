package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"lockbench/locks"
)

// Lock is one client's handle on locks that are tried once, for one name and a stated time. Its steps send the requests.
type Lock struct {
	io.Closer        // the connections; held locks stay held until they expire
	Name      string // for errors
	Tokens    *Tokens
	// Drift is how much the clocks of client and servers may differ after a ttl. Leases end that much earlier. Nil: nothing.
	Drift func(ttl time.Duration) time.Duration
	// Take requests the lock for a new lease. It returns false without an error only if the lock was refused. Its errors
	// begin with what was done.
	Take func(ctx context.Context, l *Lease, ttl time.Duration) (granted bool, err error)
	// Extend moves the end of a held lock to ttl from now, and Free releases it. They return false without an error only if
	// the lease does not hold the lock. Without Extend, leases cannot be renewed.
	Extend func(ctx context.Context, l *Lease, ttl time.Duration) (held bool, err error)
	Free   func(ctx context.Context, l *Lease) (held bool, err error)
	// Ownerless locks do not record their owner, so after an unknown outcome there is no lease to release.
	Ownerless bool
}

// Lease is one hold, or an attempt with an unknown outcome.
type Lease struct {
	*End
	lock   *Lock
	Key    string // the name of the lock
	Token  string // identifies the attempt on the servers
	TTL    time.Duration
	Number uint64   // of the grant, from 1; 0: the lock does not number its grants
	Nodes  []string // the servers that granted; nil: unknown
}

// fenced is a lease with a number, and placed is one with the servers that granted.
type (
	fenced struct{ *Lease }
	placed struct{ *Lease }
)

var (
	_ locks.Locker  = (*Lock)(nil)
	_ locks.Bounded = (*Lease)(nil)
	_ locks.Renewer = (*Lease)(nil)
	_ locks.Fenced  = fenced{}
	_ locks.Placed  = placed{}
)

// Acquire tries once. The lease counts from before the request: the server counts from a later moment, so the client never
// believes in its lease for longer than the server keeps it.
func (l *Lock) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, err := Key(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	ttl, err := TTL(r.TTL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	lease := &Lease{End: NewEnd(l.end(ttl)), lock: l, Key: key, Token: l.Tokens.Next(), TTL: ttl}
	granted, err := l.Take(ctx, lease, ttl)
	if err != nil {
		err = fmt.Errorf("%s: %w", l.Name, err)
	}
	switch {
	case err != nil && !granted && (l.Ownerless || errors.Is(err, locks.ErrUnsupported)):
		return nil, err
	case err != nil:
		return lease, err
	case !granted:
		return nil, locks.ErrTaken
	case lease.Number > 0:
		return fenced{lease}, nil
	case lease.Nodes != nil:
		return placed{lease}, nil
	}
	return lease, nil
}

// end returns the end of a lease that is requested now.
func (l *Lock) end(ttl time.Duration) time.Time {
	if l.Drift != nil {
		ttl -= l.Drift(ttl)
	}
	return time.Now().Add(ttl)
}

// Token returns the number of the grant.
func (l fenced) Token() uint64 { return l.Number }

// Nodes returns the servers that granted.
func (l placed) Nodes() []string { return l.Lease.Nodes }

// Release releases the lock if the lease still holds it.
func (l *Lease) Release(ctx context.Context) error {
	held, err := l.lock.Free(ctx, l)
	switch {
	case err != nil:
		return fmt.Errorf("%s: release %q: %w", l.lock.Name, l.Key, err)
	case !held:
		return locks.ErrNotHeld
	}
	return nil
}

// Renew moves the end of the lease to ttl from now if the lease still holds the lock.
func (l *Lease) Renew(ctx context.Context, ttl time.Duration) error {
	if l.lock.Extend == nil {
		return fmt.Errorf("%w: leases of this lock cannot be renewed", locks.ErrUnsupported)
	}
	ttl, err := TTL(ttl)
	if err != nil {
		return fmt.Errorf("%s: renew %q: %w", l.lock.Name, l.Key, err)
	}
	end := l.lock.end(ttl)
	held, err := l.lock.Extend(ctx, l, ttl)
	switch {
	case err != nil:
		l.Doubted(end)
		return fmt.Errorf("%s: renew %q: %w", l.lock.Name, l.Key, err)
	case !held:
		l.Lost()
		return locks.ErrNotHeld
	}
	l.Moved(end)
	return nil
}
