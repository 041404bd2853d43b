package redisson

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// kind is the part that differs between the locks of the family. A kind has no state beyond the client's.
type kind interface {
	// ask requests a hold once. It may queue a waiter.
	ask(ctx context.Context, l *locker, h *hold) (grant, error)
	// release releases the hold: ok is false if it was not held.
	release(ctx context.Context, l *locker, h *hold) (ok bool, err error)
	// giveUp undoes the effects of ask for a waiter.
	giveUp(ctx context.Context, l *locker, h *hold) error
	// channel is the channel on which a waiter listens, or "" if it polls.
	channel(h *hold) string
	// renewed returns the watchdog that renews the hold, and the owner in whose name it does.
	renewed(l *locker, h *hold) (*watchdog, string)
}

// grant is a server's answer to an acquire.
type grant struct {
	granted bool
	left    time.Duration // of the other holder's lease; negative: unknown
	token   uint64        // of a fenced grant
	start   time.Time     // of the request that was granted, if ask repeats requests
}

// hold is one attempt at a lock, and one count of it if it is granted. Redisson calls it a lock object: a release gives
// the remaining holds of its owner the lease of the released hold (hazard R-38).
type hold struct {
	key, owner string
	mode       locks.Mode
	lease      time.Duration // whole milliseconds
	dogged     bool          // the watchdog renews the lease
	wait       time.Duration
	latch      string // the key of the answer to its release
	queued     func() // called when a fair lock has queued the hold; may be nil
}

func (h *hold) leaseMs() int64 { return h.lease.Milliseconds() }

// locker is one client's handle.
type locker struct {
	name   string
	o      Options
	kind   kind
	client conn
	id     string // the client part of its owners
	tokens *plain.Tokens
	draw   func(n int64) int64

	subs    *subscriptions
	latches *sweeper
	dog     *watchdog // of exclusive holds
	readDog *watchdog // of read holds

	threads atomic.Int64 // numbers for owners without a name

	life    context.Context // ended by Close
	end     context.CancelFunc
	mu      sync.Mutex
	closing bool
	asking  sync.WaitGroup
}

var _ locks.Locker = (*locker)(nil)

// opener returns the opener of a lock on one server. patience is added to the usual timeout for answers.
func opener(name string, o Options, patience time.Duration, of func() kind) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		o := o.filled(c.Store.Topology)
		client, err := goredis.ConnectPatient(c.Store, patience)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return newLocker(name, o, c, client, of), nil
	}
}

func newLocker(name string, o Options, c locks.Client, client conn, of func() kind) *locker {
	if o.Now == nil {
		o.Now = c.Clock()
	}
	// Each user of random numbers has its own source, because the handles of a multi-lock share one client.
	l := &locker{name: name, o: o, client: client, draw: drawer(branch(c.Rand))}
	c.Rand = branch(c.Rand)
	l.tokens = plain.NewTokens(c)
	l.id = l.tokens.Next()
	l.subs = newSubscriptions(client, o.publish == "spublish")
	l.latches = newSweeper(client)
	l.dog = newWatchdog(client, o, l.script(renewScript), func(_, owner string) []any { return []any{owner} })
	l.readDog = newWatchdog(client, o, l.script(renewReadScript), func(name, owner string) []any { return []any{owner, tagged(name)} })
	l.readDog.shared = true
	l.life, l.end = context.WithCancel(context.Background())
	l.subs.heard = func() { l.o.Reached(l.life, Heard) }
	l.kind = of()
	return l
}

// Acquire requests the lock and waits for up to r.Wait.
func (l *locker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	h, err := l.hold(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	if !l.begin() {
		return nil, fmt.Errorf("%s: acquire %q: %w", l.name, h.key, plain.ErrClosed)
	}
	defer l.asking.Done()
	if err := ctx.Err(); err != nil { // nothing has been sent
		return nil, fmt.Errorf("%s: acquire %q: %w", l.name, h.key, err)
	}
	return l.acquire(ctx, h)
}

// begin reports whether an acquire may begin. Close waits for those that have begun,
// because they may have to leave a queue.
func (l *locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.asking.Add(1)
	}
	return !l.closing
}

// hold returns the attempt for a request.
func (l *locker) hold(r locks.Request) (*hold, error) {
	simple := r
	simple.Wait = 0
	if _, ok := l.kind.(readWrite); ok {
		simple.Mode = locks.Exclusive
	}
	key, err := plain.Key(simple)
	switch {
	case err != nil:
		return nil, err
	case r.Wait < 0:
		return nil, fmt.Errorf("%w: a negative wait, %v", locks.ErrUnsupported, r.Wait)
	}
	h := &hold{key: key, mode: r.Mode, lease: l.o.Watchdog, dogged: true, wait: r.Wait, latch: latchKey(key, l.tokens.Next())}
	if _, ok := l.kind.(fair); ok {
		h.queued = r.Queued
	}
	if r.TTL > 0 {
		ttl, err := plain.TTL(r.TTL)
		if err != nil {
			return nil, err
		}
		h.lease, h.dogged = ttl, false
	}
	thread := r.Owner
	if thread == "" {
		thread = "#" + strconv.FormatInt(l.threads.Add(1), 10)
	}
	h.owner = l.id + ":" + thread
	return h, nil
}

// acquire is the loop in the package comment.
func (l *locker) acquire(ctx context.Context, h *hold) (locks.Lease, error) {
	began := time.Now()
	g, err := l.kind.ask(ctx, l, h)
	switch {
	case err != nil:
		return l.doubt(ctx, h, err)
	case g.granted:
		return l.granted(h, g, began), nil
	case h.wait == 0:
		return nil, locks.ErrTaken
	}
	if h.queued != nil { // set by the refused acquire
		h.queued()
	}
	// Close ends the wait. It does not end the first request, which has the timeout of its connection: a context for each
	// uncontended acquire costs a microsecond.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(plain.ErrClosed) })()
	left := func() time.Duration { return h.wait - time.Since(began) }
	sleep, leave, err := l.sleeper(ctx, h, left)
	if err != nil {
		return l.refused(ctx, h, err)
	}
	defer leave()
	for left() > 0 {
		start := time.Now()
		g, err := l.kind.ask(ctx, l, h)
		switch {
		case err != nil:
			return l.doubt(ctx, h, err)
		case g.granted:
			return l.granted(h, g, start), nil
		}
		if left() <= 0 {
			break
		}
		l.o.Reached(ctx, Parking)
		// If the time is negative, it is unknown, so only a message wakes the waiter (hazard R-6).
		pause := left()
		if g.left >= 0 {
			pause = min(pause, g.left)
		}
		if sleep(ctx, pause) != nil {
			return l.refused(ctx, h, context.Cause(ctx))
		}
	}
	return l.refused(ctx, h, nil)
}

// sleeper returns a function that sleeps between two attempts.
func (l *locker) sleeper(ctx context.Context, h *hold, left func() time.Duration) (sleep func(context.Context, time.Duration) error, leave func(), err error) {
	channel := l.kind.channel(h)
	if channel == "" {
		pause := backoff(l.draw)
		return func(ctx context.Context, _ time.Duration) error { return pause(ctx, left()) }, func() {}, nil
	}
	if left() <= 0 {
		return nil, nil, errNoTime
	}
	e, err := l.subs.join(ctx, channel, left())
	if err != nil {
		if left() <= 0 {
			err = errNoTime
		}
		return nil, nil, err
	}
	return e.park, func() { l.subs.leave(e) }, nil
}

// errNoTime is the error of a wait that was over before it began. The caller gets ErrTaken.
var errNoTime = errors.New("no time left")

// granted makes the lease of a grant that was requested at start, or later by a request that was repeated.
func (l *locker) granted(h *hold, g grant, start time.Time) locks.Lease {
	if !g.start.IsZero() {
		start = g.start
	}
	own := &lease{locker: l, hold: h, granted: true}
	if !h.dogged {
		return withToken(&bounded{own, plain.NewEnd(start.Add(h.lease))}, g.token)
	}
	dog, owner := l.kind.renewed(l, h)
	own.dog, own.dogOwner = dog, owner
	return withToken(&watched{own, dog.add(h.key, owner, start)}, g.token)
}

// doubt ends an acquire with an unanswered request. It returns a lease for cleaning up. (Redisson returns false.)
func (l *locker) doubt(ctx context.Context, h *hold, err error) (locks.Lease, error) {
	if cause := context.Cause(ctx); errors.Is(cause, plain.ErrClosed) || errors.Is(err, redis.ErrClosed) {
		err = fmt.Errorf("%w: %w", plain.ErrClosed, err)
	}
	_ = l.leaveQueue(ctx, h)
	return &lease{locker: l, hold: h}, fmt.Errorf("%s: acquire %q: %w", l.name, h.key, err)
}

// refused ends an acquire whose requests were all refused. If its context has ended as well, and it
// has left the queue, its error is both ErrTaken and the context's.
func (l *locker) refused(ctx context.Context, h *hold, why error) (locks.Lease, error) {
	if err := l.leaveQueue(ctx, h); err != nil {
		return &lease{locker: l, hold: h}, fmt.Errorf("%s: acquire %q: leave the queue: %w", l.name, h.key, err)
	}
	if why == nil || errors.Is(why, errNoTime) {
		return nil, locks.ErrTaken
	}
	return nil, fmt.Errorf("%s: acquire %q: %w, and gave up: %w", l.name, h.key, locks.ErrTaken, why)
}

// leaveQueue leaves the queue. It ignores the end of the caller's context, because otherwise every cancelled caller would
// stay in the queue.
func (l *locker) leaveQueue(ctx context.Context, h *hold) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	return l.kind.giveUp(ctx, l, h)
}

// Close ends waiting and renewing, and closes the connections. Held locks stay held until they expire.
func (l *locker) Close() error {
	l.mu.Lock()
	again := l.closing
	l.closing = true
	l.mu.Unlock()
	if again {
		return nil
	}
	l.end()
	l.asking.Wait()
	l.dog.close()
	l.readDog.close()
	l.subs.close()
	l.latches.close()
	return l.client.Close()
}
