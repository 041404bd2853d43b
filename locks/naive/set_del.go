package naive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

// NewSetDel returns the opener of set-del:
//
//	acquire  SET name 1 NX EX ttl
//	release  DEL name
//
// A holder that wakes after its lease has run out deletes the next one's lock, and
// a third gets in.
func NewSetDel() locks.Opener {
	return opener("set-del", func(client redis.UniversalClient, _ locks.Client) locks.Locker {
		return &setDel{client: client}
	})
}

type setDel struct{ client redis.UniversalClient }

var _ locks.Locker = (*setDel)(nil)

// Acquire tries once.
func (l *setDel) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, ttl, err := asked("set-del", r)
	if err != nil {
		return nil, err
	}
	lease := &delLease{End: plain.NewEnd(time.Now().Add(ttl)), lock: "set-del", client: l.client, key: key}
	unit, n := expiry(ttl, "ex", "px")
	err = l.client.Do(ctx, "set", key, 1, "nx", unit, n).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, locks.ErrTaken
	case err != nil:
		// Without a lease: one that cannot tell its own key from another's cannot clean
		// up. If the SET was refused and only the answer lost, DEL would free somebody else.
		return nil, fmt.Errorf("set-del: acquire %q: %w", key, err)
	}
	return lease, nil
}

// Close closes the connections.
func (l *setDel) Close() error { return l.client.Close() }
