package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/locks"
)

// NewLibrary returns the opener of zk-lock, which is the client library's own Lock, unchanged.
// That Lock waits without a limit, so it cannot try once. After the end of a wait it continues in
// the background, and a late grant is released.
func NewLibrary(o Options) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		of, err := open("zk-lock", o, c)
		if err != nil {
			return nil, err
		}
		return library{of}, nil
	}
}

type library struct{ *client }

// Acquire waits.
func (l library) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if r.Wait == 0 {
		return nil, fmt.Errorf("zk-lock: %w: it can only wait; run zk-lock/wait=2s", locks.ErrUnsupported)
	}
	dir, s, err := l.asked(r)
	if err != nil {
		return nil, err
	}
	held := &libraryLease{client: l.client, session: s, lock: zk.NewLock(s.conn, dir, anybody), over: make(chan struct{}), lost: s.hold()}
	go func() {
		held.result = held.lock.Lock()
		close(held.over)
	}()
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	select {
	case <-held.over:
		if held.result != nil {
			return held, fmt.Errorf("zk-lock: %w", held.result)
		}
		return held, nil
	case <-ctx.Done():
		return held, fmt.Errorf("zk-lock: it still waits: %w", ctx.Err())
	}
}

type libraryLease struct {
	client  *client
	session *session
	lock    *zk.Lock
	over    chan struct{} // closed when Lock has returned
	result  error         // of Lock
	lost    chan struct{}
}

var (
	_ locks.Renewed = (*libraryLease)(nil)
	_ locks.Watched = (*libraryLease)(nil)
)

// Lease is how long a session outlives its client.
func (l *libraryLease) Lease() time.Duration { return l.session.ttl }

// Lost is closed when the library reports that the session is lost; its Lock does not report it.
func (l *libraryLease) Lost() <-chan struct{} { return l.lost }

// Release is Unlock.
func (l *libraryLease) Release(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		<-l.over
		l.session.drop(l.lost)
		done <- l.lock.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, l.client.options.Limit)
	defer cancel()
	select {
	case err := <-done:
		switch {
		case errors.Is(err, zk.ErrNotLocked) && l.result != nil:
			// Its node may exist: the library has forgotten it.
			return fmt.Errorf("zk-lock: release: Lock had failed: %w", l.result)
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotLocked):
			return locks.ErrNotHeld
		case err != nil:
			return fmt.Errorf("zk-lock: release: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("zk-lock: release: no answer: %w", ctx.Err())
	}
}
