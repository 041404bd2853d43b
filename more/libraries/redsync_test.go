package libraries

import (
	"errors"
	"testing"
	"time"

	"lockbench/locks"
)

// redsync extends a lock by its initial ttl. With another ttl the adapter must return an error, because the lease would end
// earlier than the caller believes.
func TestRedsyncRenewsByItsOwnTTLAlone(t *testing.T) {
	l := &redsyncLease{ttl: time.Second}
	if err := l.Renew(t.Context(), time.Minute); !errors.Is(err, locks.ErrUnsupported) {
		t.Errorf("a renewal by another ttl: %v, want %v", err, locks.ErrUnsupported)
	}
}
