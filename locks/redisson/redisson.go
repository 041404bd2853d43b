// Package redisson is a Go port of the algorithms of Redisson 4.7's locks: the same keys, loops and defaults, with scripts
// that were written again, so that findings about these locks apply to the algorithm. It shares no code with Redisson.
//
//	New          RLock: re-entrant, waiting, renewed by a watchdog
//	NewFair      FairLock: waiters are served in the order of their requests
//	NewReadWrite ReadWriteLock: many readers or one writer
//	NewFenced    FencedLock: RLock whose grants are numbered
//	NewSpin      SpinLock: RLock that polls
//	NewWait      RLock that waits for a replica with WAIT
//	NewMulti     MultiLock: several locks as one
//	NewRedLock   RedLock: a majority of several masters
//
// # How a lock of this family works
//
// The lock is a hash with an expiry: owner -> number of holds. An owner is a thread of a client, "<client>:<thread>"; a
// request of the same owner adds a hold. A refused client learns how long the lock has left, subscribes to its channel,
// requests the lock again, and sleeps until a message or that time, whichever is first:
//
//	acquire ── granted ─────────────────────────────────────▶ lease
//	   │                                            ▲
//	   └─ refused ─▶ subscribe ─▶ acquire ──────────┤
//	                                 ▲   └ refused ─▶ sleep ─┐
//	                                 └───── message, or time ┘
//
// The second acquire is needed because a release between the refusal and the subscription wakes no waiter. All waiters of
// one client for one lock share one subscription, and one message wakes one of them. The end of a lease sends no message.
//
// A request without a ttl gets the watchdog's lease, 30 s, which the watchdog renews after each third of it. Redisson does
// not notify the holder that a renewal came too late; these locks can ([Options.Silent] turns that off).
//
// A release has an id, under which the server keeps its answer for a while, the latch. So a release that is repeated
// because its reply was lost does not release a second hold. Acquires are never repeated.
//
// The port includes the defects of Redisson. Comments name each hazard by the id that docs and tests use (R-22 and so on).
// Where the contract of package locks requires more, the port meets the contract: a timeout for which Redisson returns
// false is an unknown outcome here.
package redisson

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"lockbench/locks"
)

// Options are the options of the locks of this family. The zero value has Redisson's defaults.
type Options struct {
	// Watchdog is the lease of requests without a ttl. A third of it, in whole milliseconds, passes between rounds of renewals.
	// 0 means 30 s.
	Watchdog time.Duration
	// Chained is the earlier watchdog: each lock has its own renewals, which end at the first failure (hazard R-9).
	Chained bool
	// Silent turns off the notices of losses, which Redisson does not have.
	Silent bool
	// NoLatch executes a repeated release again (hazard R-14).
	NoLatch bool
	// Retries is how often an unanswered release is repeated; 0 means 4, negative never.
	Retries int
	// RetryDelay limits the pause before a repetition, half of it before the first; 0 means 2 s.
	RetryDelay time.Duration
	// OldQueue is the fair lock of 3.13.3 to 3.31, form F3 (hazard R-6).
	OldQueue bool
	// SyncTimeout is how long the replication check waits for replicas; 0 means 1 s.
	SyncTimeout time.Duration
	// RequireReplica makes the replication check wait for one replica, however many the master reports. Redisson waits for none
	// on a master that once reported none.
	RequireReplica bool
	// KeepUnconfirmed leaves a grant that no replica has confirmed until its lease ends, although its caller is refused
	// (hazard R-18).
	KeepUnconfirmed bool
	// Now is the client's wall clock, which only the fair lock uses. Nil: the clock of its [locks.Client].
	Now func() time.Time
	// Lua, if not nil, changes the text of a script with the given name. Mutants use it.
	Lua func(name, text string) string
	// Reached, if not nil, is called at points where tests stop a client.
	Reached func(ctx context.Context, p Point)

	publish string // how waiters are woken: publish, or in a cluster spublish
}

// Point is a point in the waiting loop or in the delivery of messages.
type Point string

// The points.
const (
	Parking Point = "parking" // refused again, about to sleep
	Heard   Point = "heard"   // a message has arrived, and its permits are being distributed
)

const (
	watchdogDefault    = 30 * time.Second
	syncTimeoutDefault = time.Second
	retriesDefault     = 4
	retryDelayDefault  = 2 * time.Second
	// commandTimeout is Redisson's timeout; the life of a latch depends on it. The
	// connections' own limits are shorter.
	commandTimeout = 3 * time.Second
)

// filled returns the options with defaults.
func (o Options) filled(t locks.Topology) Options {
	o.Watchdog = cmp.Or(o.Watchdog, watchdogDefault)
	o.SyncTimeout = cmp.Or(o.SyncTimeout, syncTimeoutDefault)
	o.RetryDelay = cmp.Or(o.RetryDelay, retryDelayDefault)
	o.Retries = max(0, cmp.Or(o.Retries, retriesDefault))
	o.publish = "publish"
	if t == locks.Cluster {
		o.publish = "spublish"
	}
	if o.Reached == nil {
		o.Reached = func(context.Context, Point) {}
	}
	return o
}

// retryDelay returns the pause before a repeated release: half of it fixed, half random.
func (o Options) retryDelay(attempt int, draw func(n int64) int64) time.Duration {
	d := o.RetryDelay
	if attempt == 0 {
		d /= 2
	}
	return d/2 + time.Duration(draw(int64(d/2)+1))
}

// latchTTL returns how long a latch is kept, in milliseconds: as long as a release may be repeated. 0: no latches.
func (o Options) latchTTL() int64 {
	if o.NoLatch {
		return 0
	}
	n := time.Duration(max(o.Retries, 1))
	return max(1, ((commandTimeout + o.RetryDelay) * n).Milliseconds())
}

// branch derives a random source from another; nil from nil.
func branch(rng *rand.Rand) *rand.Rand {
	if rng == nil {
		return nil
	}
	return rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
}

// drawer makes a random source safe for several goroutines.
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

// New returns the opener of RLock. TTL 0 means the watchdog's lease.
func New(o Options) locks.Opener {
	return opener("redisson-port", o, 0, func() kind { return rlock{} })
}

// NewSpin returns the opener of SpinLock: RLock without messages, which polls.
func NewSpin(o Options) locks.Opener {
	return opener("redisson-port-spin", o, 0, func() kind { return spin{} })
}

// NewFenced returns the opener of FencedLock: RLock whose grants, re-entry included, are numbered by the acquire script.
func NewFenced(o Options) locks.Opener {
	return opener("redisson-port-fenced", o, 0, func() kind { return fenced{} })
}

// NewFair returns the opener of FairLock.
func NewFair(o Options) locks.Opener {
	return opener("redisson-port-fair", o, 0, func() kind { return fair{} })
}

// NewReadWrite returns the opener of ReadWriteLock. The mode of a request selects reader or writer.
func NewReadWrite(o Options) locks.Opener {
	return opener("redisson-port-rw", o, 0, func() kind { return readWrite{} })
}

// NewWait returns the opener of RLock with the replication check.
func NewWait(o Options) locks.Opener {
	return opener("redisson-port-wait", o, o.filled("").SyncTimeout, func() kind { return &synced{} })
}

// conn is a client that runs scripts.
type conn = redis.UniversalClient
