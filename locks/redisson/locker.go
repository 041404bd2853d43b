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

// kind is what makes one lock of the family differ from the others. A kind is told
// the client and the hold each time and has no state of its own beyond the client's.
type kind interface {
	// ask asks for a hold once; a waiter may be queued by it.
	ask(ctx context.Context, l *locker, h *hold) (grant, error)
	// try asks once for a caller who does not wait.
	try(ctx context.Context, l *locker, h *hold) (grant, error)
	// release gives the hold back: ok is false if it was not held.
	release(ctx context.Context, l *locker, h *hold) (ok bool, err error)
	// giveUp undoes what ask has left behind for a waiter.
	giveUp(ctx context.Context, l *locker, h *hold) error
	// channel is what a waiter listens to; empty: it polls.
	channel(h *hold) string
	// renewed says which watchdog keeps the hold alive and under which owner's name.
	renewed(l *locker, h *hold) (*watchdog, string)
}

// grant is what a server said to an acquire.
type grant struct {
	granted bool
	left    time.Duration // of the lock that others hold; below 0: nobody knows
	token   uint64        // of a fenced grant
}

// hold is one attempt at a lock, and one count of it if it is granted.
//
// In Redisson's words it is a lock object: the lease that a release leaves to the
// other holds of its owner is the one that this hold was asked with, not theirs (hazard R-38).
type hold struct {
	key, owner string
	mode       locks.Mode
	lease      time.Duration // whole milliseconds
	dogged     bool          // the lease is the watchdog's
	wait       time.Duration
	latch      string // the key under which the server keeps what its release answered
	queued     func() // to be called when a fair lock has queued it; or nil
}

func (h *hold) leaseMs() int64 { return h.lease.Milliseconds() }

// locker is one client's handle.
type locker struct {
	name   string
	o      Options
	kind   kind
	client conn
	id     string // the client, before the ":" of its owners
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

// opener opens a handle on one master at a time. Answers may take longer than usual
// by patience.
func opener(name string, o Options, patience time.Duration, of func(*locker) kind) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		o := o.filled(c.Store.Topology)
		if err := o.check(name); err != nil {
			return nil, err
		}
		client, err := goredis.ConnectPatient(c.Store, patience)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return newLocker(name, o, c, client, of), nil
	}
}

func newLocker(name string, o Options, c locks.Client, client conn, of func(*locker) kind) *locker {
	if o.Now == nil {
		o.Now = c.Clock()
	}
	// Each user of chance has a source of its own, drawn here: they lock themselves,
	// not each other, and the handles of a multi-lock share one client.
	l := &locker{name: name, o: o, client: client, draw: drawer(branch(c.Rand))}
	c.Rand = branch(c.Rand)
	l.tokens = plain.NewTokens(c)
	l.id = l.tokens.Next()
	l.subs = newSubscriptions(client, o.publish == "spublish")
	l.latches = newSweeper(client)
	l.dog = newWatchdog(client, o, l.script(renewScript), func(r *renewal) []any { return []any{r.owners[0].owner} })
	l.readDog = newWatchdog(client, o, l.script(renewReadScript), func(r *renewal) []any {
		return []any{r.owners[0].owner, tagged(r.name)}
	})
	l.readDog.shared = true
	l.life, l.end = context.WithCancel(context.Background())
	l.subs.heard = func() { l.o.Reached(l.life, Heard) }
	l.kind = of(l)
	return l
}

// Acquire asks for the lock, and waits for it if r.Wait says so.
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

// begin lets an acquire begin, unless the handle is closed: Close waits for those
// that have begun, for they may have to leave a queue.
func (l *locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.asking.Add(1)
	}
	return !l.closing
}

// hold is the attempt that a request asks for.
func (l *locker) hold(r locks.Request) (*hold, error) {
	switch {
	case len(r.Keys) != 1:
		return nil, fmt.Errorf("%w: a request for %d names; ask for exactly one, or take redisson-multi", locks.ErrUnsupported, len(r.Keys))
	case r.Keys[0] == "":
		return nil, fmt.Errorf("%w: the name of the lock is empty", locks.ErrUnsupported)
	case r.Wait < 0:
		return nil, fmt.Errorf("%w: a negative wait, %v", locks.ErrUnsupported, r.Wait)
	case r.TTL < 0:
		return nil, fmt.Errorf("%w: a negative ttl, %v; 0 asks for a lease that the watchdog renews", locks.ErrUnsupported, r.TTL)
	}
	if _, ok := l.kind.(readWrite); !ok && r.Mode != locks.Exclusive {
		return nil, fmt.Errorf("%w: mode %v; this lock can only be held alone, redisson-rw can be shared", locks.ErrUnsupported, r.Mode)
	}
	h := &hold{key: r.Keys[0], mode: r.Mode, lease: l.o.Watchdog, dogged: true, wait: r.Wait, latch: latchKey(r.Keys[0], l.tokens.Next())}
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

// acquire is the loop of the package comment.
func (l *locker) acquire(ctx context.Context, h *hold) (locks.Lease, error) {
	began := time.Now()
	ask := l.kind.ask
	if h.wait == 0 {
		ask = l.kind.try
	}
	g, err := ask(ctx, l, h)
	switch {
	case err != nil:
		return l.doubt(ctx, h, err)
	case g.granted:
		return l.granted(h, g, began), nil
	case h.wait == 0:
		return nil, locks.ErrTaken
	}
	l.o.Reached(ctx, Refused)
	if h.queued != nil { // by the acquire that was refused
		h.queued()
	}
	// Close ends the waiting. It does not end the request before it, which its
	// connection bounds: a context for each uncontended acquire costs a microsecond.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(plain.ErrClosed) })()
	left := func() time.Duration { return h.wait - time.Since(began) }
	sleep, leave, err := l.sleeper(ctx, h, left)
	if err != nil {
		return l.refused(ctx, h, err)
	}
	defer leave()
	l.o.Reached(ctx, Subscribed)
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
		// Below 0 nobody knows how long, so only a message helps (hazard R-6).
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

// sleeper returns what a refused caller does between two tries.
func (l *locker) sleeper(ctx context.Context, h *hold, left func() time.Duration) (sleep func(context.Context, time.Duration) error, leave func(), err error) {
	channel := l.kind.channel(h)
	if channel == "" {
		backoff := newBackoff(l.o.Constant, l.draw)
		return func(ctx context.Context, _ time.Duration) error { return backoff.pause(ctx, left()) }, func() {}, nil
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

// errNoTime is a wait that was over before it could begin; the answer is taken.
var errNoTime = errors.New("no time left")

// granted makes the lease of a grant for which was asked at start.
func (l *locker) granted(h *hold, g grant, start time.Time) locks.Lease {
	own := &lease{locker: l, hold: h, granted: true}
	if !h.dogged {
		return withToken(&bounded{own, plain.NewEnd(start.Add(h.lease))}, g.token)
	}
	dog, owner := l.kind.renewed(l, h)
	own.dog, own.dogOwner = dog, owner
	lost := dog.add(h.key, owner, start)
	if l.o.Silent {
		return withToken(&kept{own}, g.token)
	}
	return withToken(&watched{&kept{own}, lost}, g.token)
}

// doubt ends an acquire of which one request was not answered. The caller gets a
// lease to clean up with. (Redisson says false here.)
func (l *locker) doubt(ctx context.Context, h *hold, err error) (locks.Lease, error) {
	if cause := context.Cause(ctx); errors.Is(cause, plain.ErrClosed) || l.closed(err) {
		err = fmt.Errorf("%w: %w", plain.ErrClosed, err)
	}
	_ = l.leaveQueue(ctx, h)
	return &lease{locker: l, hold: h}, fmt.Errorf("%s: acquire %q: %w", l.name, h.key, err)
}

// refused ends an acquire whose every request was answered with no. That holds for
// one whose context has ended too, if it has left no place in a queue: it is both
// taken and cancelled.
func (l *locker) refused(ctx context.Context, h *hold, why error) (locks.Lease, error) {
	if err := l.leaveQueue(ctx, h); err != nil {
		return &lease{locker: l, hold: h}, fmt.Errorf("%s: acquire %q: leave the queue: %w", l.name, h.key, err)
	}
	if why == nil || errors.Is(why, errNoTime) {
		return nil, locks.ErrTaken
	}
	return nil, fmt.Errorf("%s: acquire %q: %w, and gave up: %w", l.name, h.key, locks.ErrTaken, why)
}

// leaveQueue gives up a waiter's place. The end of the caller's context does not
// reach it, or every impatient caller would leave a ghost behind.
func (l *locker) leaveQueue(ctx context.Context, h *hold) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	return l.kind.giveUp(ctx, l, h)
}

// closed says whether err is that of a client library that was closed.
func (l *locker) closed(err error) bool { return errors.Is(err, redis.ErrClosed) }

// Close ends waiting and renewing, and closes the connections. What is held stays
// held until it expires.
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
