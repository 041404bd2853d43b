// Package plain contains the parts that simple locks share. Simple locks are exclusive, for one name and a stated time. They
// try once, and do not renew in the background.
package plain

import (
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// ErrClosed is the error of a closed handle. It is not a definite failure, because it depends on the client and not on the
// lock.
var ErrClosed = errors.New("client is closed")

// Key returns the only name in a request, or an error if the request needs more than a simple lock offers. Key ignores the
// owner: simple locks have no re-entry, so a request of the same owner is refused like any other.
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

// TTL returns a lease as a server keeps it, in whole milliseconds, or an error. It never returns less than a millisecond,
// because in some commands of Redis a time of 0 means no expiry, and then a crashed holder would hold the lock forever. It
// truncates: a client must not believe in 1.5 ms if the server keeps 1 ms.
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
