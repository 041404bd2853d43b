package libraries

import (
	"errors"
	"testing"
	"time"

	"lockbench/locks"
)

// redsync extends by the ttl that a lock was made with. Another one it cannot do, and to
// answer ok would promise a lease that ends earlier.
func TestRedsyncRenewsByItsOwnTTLAlone(t *testing.T) {
	l := &redsyncLease{ttl: time.Second}
	if err := l.Renew(t.Context(), time.Minute); !errors.Is(err, locks.ErrUnsupported) {
		t.Errorf("a renewal by another ttl: %v, want %v", err, locks.ErrUnsupported)
	}
}
