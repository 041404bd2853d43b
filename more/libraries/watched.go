package libraries

import (
	"context"
	"errors"
	"lockbench/locks"
	"strings"
	"sync"
	"time"
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

// openWatched returns the function that opens the lock of a library.
func openWatched(notLocked error, open func(locks.Store, watchedSettings, time.Duration) (watched, error)) func(Options) (locks.Opener, error) {
	return func(o Options) (locks.Opener, error) {
		s := watchedSettings{
			validity: o.duration("validity", 5*time.Second), extend: o.duration("extend", 0), majority: o.number("majority", 2),
			tryNext: o.duration("try-next", 20*time.Millisecond),
			noLoop:  o.on("no-loop", false), setpx: o.on("setpx", false),
		}
		if err := o.err(); err != nil {
			return nil, err
		}
		return func(_ context.Context, c locks.Client) (locks.Locker, error) {
			// adds rueidislock, valkeylock: a locker for each ttl, because a locker has one validity; and a context that ends with the wait
			newLocker := func(validity time.Duration) (watched, error) { return open(c.Store, s, validity) }
			return &watchedLocker{settings: s, notLocked: notLocked, open: newLocker, lockers: map[time.Duration]watched{}}, nil
		}, nil
	}
}

// endpoints returns the addresses for a client, the name of the master if they are Sentinels, and whether they are one
// server.
func endpoints(s locks.Store) (addrs []string, master string, single bool, err error) {
	switch s.Topology {
	case locks.Single, locks.Replicated:
		return []string{s.Nodes()[0].Addr}, "", true, nil
	case locks.Sentinel:
		return addresses(s.Endpoints[locks.Sentinels]), s.Params[locks.MasterName], false, nil
	case locks.Cluster:
		return addresses(s.Nodes()), "", false, nil
	}
	return nil, "", false, locks.ErrUnsupported
}

// watchedLocker has one locker of the library for each validity, which is an option of the locker and not of a request.
type watchedLocker struct {
	settings  watchedSettings
	notLocked error
	open      func(validity time.Duration) (watched, error)

	mu      sync.Mutex
	lockers map[time.Duration]watched
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
	extend := l.settings.extend
	if extend == 0 {
		extend = validity / 2
	}
	return &watchedLease{held, release, stop, validity, min(extend, validity)}, nil
}

type watchedLease struct {
	held     context.Context
	release  context.CancelFunc
	stop     func()
	validity time.Duration
	extend   time.Duration
}

var (
	_ locks.Renewed = (*watchedLease)(nil)
	_ locks.Watched = (*watchedLease)(nil)
	_ locks.Paced   = (*watchedLease)(nil)
)

func (l *watchedLease) Lease() time.Duration  { return l.validity }
func (l *watchedLease) Period() time.Duration { return l.extend }
func (l *watchedLease) Lost() <-chan struct{} { return l.held.Done() }

// Release waits until the keys are deleted. The library does not report the result.
func (l *watchedLease) Release(context.Context) error {
	l.release()
	l.stop()
	return locks.ErrUnconfirmed
}
