// Package redisson is a Go port of the algorithms of Redisson 4.7's locks: the same
// keys, scripts in our own words, the same loops and defaults, so that what is
// found about these locks is a finding about the algorithm. It shares no code
// with Redisson.
//
//	New          RLock: re-entrant, waiting, renewed by a watchdog
//	NewFair      FairLock: who asked first is served first
//	NewReadWrite ReadWriteLock: many readers or one writer
//	NewFenced    FencedLock: RLock whose grants are numbered
//	NewSpin      SpinLock: RLock that polls
//	NewWait      RLock that asks with WAIT whether a replica has it
//	NewMulti     MultiLock: several locks as one
//	NewRedLock   RedLock: a majority of several masters
//
// # How a lock of this family works
//
// The lock is a hash with an expiry: owner -> number of holds. An owner is a
// thread of a client, "<client>:<thread>"; the same owner again counts one more hold. Who
// is refused learns how long the lock has left, subscribes to its channel, asks
// again, and sleeps until a message or that time, whichever is first:
//
//	acquire ── granted ─────────────────────────────────────▶ lease
//	   │                                            ▲
//	   └─ refused ─▶ subscribe ─▶ acquire ──────────┤
//	                                 ▲   └ refused ─▶ sleep ─┐
//	                                 └───── message, or time ┘
//
// The second acquire is needed: a release between the refusal and the subscription
// has told nobody. All waiters of one client for one lock share one subscription,
// and one message wakes one of them. The end of a lease sends no message.
//
// A lease without a time of its own gets the watchdog's, 30 s, and a third of
// that is how often the watchdog renews it. Redisson never tells the holder that a
// renewal came too late; these locks can ([Options.Silent] leaves it out again).
//
// A release carries an id, under which the server keeps for a while what it
// answered, the latch: so a release that is sent again because its reply was lost
// does not give back a second hold. Acquires are never sent again.
//
// What Redisson does wrong is here too. A comment names each such hazard by the id
// that docs and tests use (R-22 and so on). Where the contract of package locks
// asks for more, the port keeps to the contract: what Redisson reports as false
// after a timeout is an unknown outcome here.
package redisson

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	service "lockbench/service/redis"
)

// Options are what can be changed about the locks of this family. The zero value is
// what Redisson does by default.
type Options struct {
	// Watchdog is the lease of those who ask for none; a third of it after each
	// round of renewals the next one begins. 0 means 30 s.
	Watchdog time.Duration
	// Chained is the watchdog of old: each lock has a renewal of its own, and the
	// first that goes wrong is its last (hazard R-9).
	Chained bool
	// Silent takes away what Redisson does not have: that a holder is told when
	// its renewals have come too late.
	Silent bool
	// NoLatch lets a release that is sent again be executed again (hazard R-14).
	NoLatch bool
	// Retries is how often a release is sent again if nobody answers; below 0 never,
	// 0 means 4.
	Retries int
	// RetryDelayMin and RetryDelayMax bound the pause before that; 0 means 1 s and 2 s.
	RetryDelayMin, RetryDelayMax time.Duration
	// Form is the variant of the fair lock; empty means F4.
	Form Form
	// FairWait is how long a waiter of the fair lock that does not say for how long is thought
	// to live; 0 means 5 minutes.
	FairWait time.Duration
	// Constant makes the spin lock pause 64 ms each time, instead of 1 ms, 2 ms, ... 128 ms.
	Constant bool
	// SyncTimeout is how long the replication check waits for replicas; 0 means 1 s.
	SyncTimeout time.Duration
	// KeepUnconfirmed leaves a grant that no replica has confirmed to its lease, though its
	// caller is refused (hazard R-18).
	KeepUnconfirmed bool
	// PlainLease passes the caller's lease on to the children of a multi-lock as it
	// is, instead of a lease twice as long as the wait (hazard R-28).
	PlainLease bool
	// Now is the client's wall clock, which only the fair lock looks at. Nil: the one of
	// its [locks.Client].
	Now func() time.Time
	// Lua, if not nil, changes the text of a script, given its name, before it is run: what
	// the lock would be if somebody had written it so.
	Lua func(name, text string) string
	// Reached, if not nil, is called where a client can be stopped: tests stop it there.
	Reached func(ctx context.Context, p Point)

	publish string // how waiters are woken: publish, or in a cluster spublish
}

// Point is a place in the waiting loop, or in what wakes it.
type Point string

// The points.
const (
	Refused    Point = "refused"    // the first acquire was refused; nothing is subscribed to
	Subscribed Point = "subscribed" // and not yet asked again
	Parking    Point = "parking"    // asked again, refused again, about to sleep
	Heard      Point = "heard"      // a message has come in, and the permits for it are given out
)

const (
	watchdogDefault    = 30 * time.Second
	fairWaitDefault    = 5 * time.Minute
	syncTimeoutDefault = time.Second
	retriesDefault     = 4
	retryMinDefault    = time.Second
	retryMaxDefault    = 2 * time.Second
	// commandTimeout is Redisson's; it goes into how long a latch is kept. The
	// connections' own limits are shorter.
	commandTimeout = 3 * time.Second
)

// filled puts the defaults in.
func (o Options) filled(t locks.Topology) Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.Watchdog, watchdogDefault)
	set(&o.FairWait, fairWaitDefault)
	set(&o.SyncTimeout, syncTimeoutDefault)
	set(&o.RetryDelayMin, retryMinDefault)
	set(&o.RetryDelayMax, retryMaxDefault)
	switch {
	case o.Retries == 0:
		o.Retries = retriesDefault
	case o.Retries < 0:
		o.Retries = 0
	}
	o.publish = "publish"
	if t == service.Cluster {
		o.publish = "spublish"
	}
	if o.Form == "" {
		o.Form = F4
	}
	if o.Reached == nil {
		o.Reached = func(context.Context, Point) {}
	}
	return o
}

// check says what no lock can work with.
func (o Options) check(name string) error {
	if o.Watchdog < 3*time.Millisecond {
		return fmt.Errorf("%s: a watchdog's lease of %v is too short; it is renewed each third of it, in whole milliseconds", name, o.Watchdog)
	}
	return nil
}

// retryDelay is the pause before a release is sent again: half of it fixed, half drawn.
func (o Options) retryDelay(attempt int, draw func(n int64) int64) time.Duration {
	d := o.RetryDelayMax
	if attempt < 16 {
		d = min(d, o.RetryDelayMin<<attempt)
	}
	return d/2 + time.Duration(draw(int64(d/2)+1))
}

// latchTTL is how long a latch is kept, in milliseconds: for as long as a release
// may be sent again. 0: no latches.
func (o Options) latchTTL() int64 {
	if o.NoLatch {
		return 0
	}
	n := time.Duration(max(o.Retries, 1))
	return max(1, ((commandTimeout + o.RetryDelayMax) * n).Milliseconds())
}

// branch draws a source of chance of its own from another; nil from nil.
func branch(rng *rand.Rand) *rand.Rand {
	if rng == nil {
		return nil
	}
	return rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
}

// drawer makes a source of chance safe for several goroutines.
func drawer(rng *rand.Rand) func(n int64) int64 {
	if rng == nil {
		return rand.Int64N
	}
	var mu sync.Mutex
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return rng.Int64N(n)
	}
}

// New returns the opener of RLock. TTL 0 is the watchdog's lease; Wait waits.
func New(o Options) locks.Opener {
	return opener("redisson", o, 0, func(*locker) kind { return rlock{} })
}

// NewSpin returns the opener of SpinLock: RLock without messages. Who is refused
// asks again and again.
func NewSpin(o Options) locks.Opener {
	return opener("redisson-spin", o, 0, func(*locker) kind { return spin{} })
}

// NewFenced returns the opener of FencedLock: RLock whose grants, re-entry
// included, are counted in the same script.
func NewFenced(o Options) locks.Opener {
	return opener("redisson-fenced", o, 0, func(*locker) kind { return fenced{} })
}

// NewFair returns the opener of FairLock.
func NewFair(o Options) locks.Opener {
	return opener("redisson-fair", o, 0, func(l *locker) kind { return fair{l.o.Form} })
}

// NewReadWrite returns the opener of ReadWriteLock: Mode says reader or writer.
func NewReadWrite(o Options) locks.Opener {
	return opener("redisson-rw", o, 0, func(*locker) kind { return readWrite{} })
}

// NewWait returns the opener of RLock with the replication check.
func NewWait(o Options) locks.Opener {
	return opener("redisson-wait", o, o.filled("").SyncTimeout, func(*locker) kind { return &synced{} })
}

// conn is what scripts run on.
type conn = redis.UniversalClient
