package libraries

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"lockbench/locks"
)

// watched is the API of rueidislock and valkeylock: a lock that is held until a context is done, on a majority of keys
// that the library keeps extending.
type watched interface {
	WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	TryWithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	Close()
}

// watchedSettings are the options of users.
type watchedSettings struct {
	validity, extend time.Duration
	tryNext          time.Duration
	majority         int
	noLoop, setpx    bool
}

func watchedOptions(o *Options) (watchedSettings, error) {
	s := watchedSettings{
		validity: o.duration("validity", 5*time.Second), extend: o.duration("extend", 0), majority: o.number("majority", 2),
		tryNext: o.duration("try-next", 20*time.Millisecond),
		noLoop:  o.on("no-loop", false), setpx: o.on("setpx", false),
	}
	return s, o.err()
}

// watchedLocker has one locker of the library for each validity, which is an option of the locker and not of a request.
type watchedLocker struct {
	settings  watchedSettings
	notLocked error
	open      func(validity time.Duration) (watched, error)

	mu      sync.Mutex
	lockers map[time.Duration]watched
}

func newWatchedLocker(s watchedSettings, notLocked error, open func(time.Duration) (watched, error)) *watchedLocker {
	return &watchedLocker{settings: s, notLocked: notLocked, open: open, lockers: map[time.Duration]watched{}}
}

func (l *watchedLocker) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.lockers {
		w.Close()
	}
	return nil
}

func (l *watchedLocker) of(validity time.Duration) (watched, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.lockers[validity]
	if ok {
		return w, nil
	}
	w, err := l.open(validity)
	if err == nil {
		l.lockers[validity] = w
	}
	return w, err
}

func (l *watchedLocker) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) {
	// The libraries know no owners: a repeated request of the holder is refused.
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive {
		return nil, locks.ErrUnsupported
	}
	validity := r.TTL
	if validity == 0 {
		validity = l.settings.validity
	}
	w, err := l.of(validity)
	if err != nil {
		return nil, err
	}
	// The lock is released when this context is done, so it must not be the request's.
	own, stop := context.WithCancel(context.Background())
	var held context.Context
	var release context.CancelFunc
	if r.Wait > 0 {
		waiting := time.AfterFunc(r.Wait, stop)
		held, release, err = w.WithContext(own, r.Keys[0])
		waiting.Stop()
	} else {
		held, release, err = w.TryWithContext(own, r.Keys[0])
	}
	if err != nil {
		stop()
		// The error is the same if servers did not answer.
		if errors.Is(err, l.notLocked) && strings.Contains(err.Error(), "held by others") {
			return nil, locks.ErrTaken
		}
		return nil, err
	}
	return &watchedLease{held, release, stop, validity}, nil
}

type watchedLease struct {
	held     context.Context
	release  context.CancelFunc
	stop     func()
	validity time.Duration
}

var (
	_ locks.Renewed = (*watchedLease)(nil)
	_ locks.Watched = (*watchedLease)(nil)
)

func (l *watchedLease) Lease() time.Duration  { return l.validity }
func (l *watchedLease) Lost() <-chan struct{} { return l.held.Done() }

// Release waits until the keys are deleted. The library does not report the result.
func (l *watchedLease) Release(context.Context) error {
	lost := l.held.Err() != nil
	l.release()
	l.stop()
	if lost {
		return locks.ErrNotHeld
	}
	return nil
}
