// Package plain is what the simple locks share: locks on one name at a time, held
// alone, tried once, for a stated time and never renewed in the background.
package plain

import (
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// ErrClosed is what a handle answers after Close. It is not one of the definite
// failures, since it says nothing about the lock.
var ErrClosed = errors.New("client is closed")

// Key returns the one name that a request asks for, or says what the request
// wants that a plain lock cannot do. Owner is not looked at: no plain lock knows
// re-entry, so the same owner again is refused like anybody else.
func Key(r locks.Request) (string, error) {
	switch {
	case len(r.Keys) != 1:
		return "", fmt.Errorf("%w: a request for %d names; ask for exactly one", locks.ErrUnsupported, len(r.Keys))
	case r.Keys[0] == "":
		return "", fmt.Errorf("%w: the name of the lock is empty", locks.ErrUnsupported)
	case r.Mode != locks.Exclusive:
		return "", fmt.Errorf("%w: mode %v; this lock can only be held alone", locks.ErrUnsupported, r.Mode)
	case r.Wait != 0:
		return "", fmt.Errorf("%w: a wait of %v; this lock is tried once, ask with wait 0 and try again", locks.ErrUnsupported, r.Wait)
	case r.TTL < 0:
		return "", fmt.Errorf("%w: a negative ttl, %v", locks.ErrUnsupported, r.TTL)
	}
	return r.Keys[0], nil
}

// TTL returns a lease time as a server keeps it, in whole milliseconds, or says
// why there can be none. It never returns less than a millisecond: to Redis a
// time of 0 is either an error or, in other commands, no expiry at all, and the
// second would be a lock that outlives its crashed holder for ever.
//
// The time is cut, not rounded, because a client that believes in 1.5 ms when the
// server keeps 1 ms believes for too long.
func TTL(ttl time.Duration) (time.Duration, error) {
	switch {
	case ttl == 0:
		return 0, fmt.Errorf("%w: no ttl; this lock is never renewed, so its ttl has no default and must be given", locks.ErrUnsupported)
	case ttl < 0:
		return 0, fmt.Errorf("%w: a negative ttl, %v", locks.ErrUnsupported, ttl)
	case ttl < time.Millisecond:
		return 0, fmt.Errorf("%w: a ttl of %v; the server counts in whole milliseconds, ask for at least 1ms", locks.ErrUnsupported, ttl)
	}
	return ttl.Truncate(time.Millisecond), nil
}
