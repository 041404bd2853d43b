package mutants

import (
	"cmp"
	"context"
	"errors"
	"lockbench/locks"
	"lockbench/locks/redisson"
	"lockbench/locks/setnx"
	"time"
)

// answering is a right lock whose requests or answers are changed.
type answering struct {
	locks.Locker
	acquire func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error)
}

// Acquire acquires the lock with the mistake.
func (a answering) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	return a.acquire(ctx, a.Locker, r)
}

// around opens a right lock and puts a mistake around it.
func around(open locks.Opener, acquire func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error)) locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		l, err := open(ctx, c)
		if err != nil {
			return nil, err
		}
		return answering{l, acquire}, nil
	}
}

// heldForEver is a lease whose release never reaches the lock, so that it is renewed for ever.
type heldForEver struct {
	locks.Renewed
	locks.Watched
}

// unrefreshed is a lease that claims to be renewed.
type unrefreshed struct {
	lease locks.Lease
	of    time.Duration
}

// Release releases the lock.
func (l unrefreshed) Release(ctx context.Context) error { return l.lease.Release(ctx) }

// Lease is the lease, which is not renewed.
func (l unrefreshed) Lease() time.Duration { return l.of }

// Release reports success.
func (heldForEver) Release(context.Context) error { return nil }

// leases are the leases of several names. They end with the first of them.
type leases struct{ all []locks.Lease }

var _ locks.Bounded = (*leases)(nil)

// Release releases all of them.
func (l *leases) Release(ctx context.Context) error {
	var failed error
	for _, lease := range l.all {
		failed = cmp.Or(failed, lease.Release(ctx))
	}
	return failed
}

// Until is the end of the first one, which was requested before the others.
func (l *leases) Until() time.Time {
	if len(l.all) == 0 {
		return time.Time{}
	}
	bounded, _ := l.all[0].(locks.Bounded)
	return bounded.Until()
}

// answeringLocks are the mutants around right ones.
func answeringLocks() []Mutant {
	several := redissonClaims(func(c *locks.Claims) { c.Several = true })
	on := func(name, mistake string, claims locks.Claims, w Wrong, open locks.Opener) Mutant {
		return Mutant{
			Card:    locks.Card{Name: name, Family: locks.SingleStore, Claims: claims},
			Mistake: mistake, Topologies: append(anyMaster, locks.Cluster), Wrong: w, Open: open,
		}
	}
	exclusive := redissonClaims(func(*locks.Claims) {})
	return []Mutant{
		on("threads-are-one", "knows clients and not threads, so that two threads of a client hold at once", exclusive,
			Wrong{Bug: "R-35", Known: "Redisson #4178; redis-py #384, #489", Scenario: "reentrant", Class: "double-grant", Original: "redisson-port"},
			around(redisson.New(redisson.Options{}), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				r.Owner = "main"
				return l.Acquire(ctx, r)
			})),
		on("writer-looks-first", "checks for readers, and takes the lock for writing in a second request without that check",
			redissonClaims(func(c *locks.Claims) { c.Shared = true }),
			Wrong{Bug: "W-1", Scenario: "pause-writer", Class: "double-grant", Original: "redisson-port-rw"}, lookingWriter()),
		on("reader-looks-first", "checks for a writer, and joins the readers in a second request without that check",
			redissonClaims(func(c *locks.Claims) { c.Shared = true }),
			Wrong{Bug: "W-27", Scenario: "pause-writer", Class: "double-grant", Original: "redisson-port-rw"}, lookingReader()),
		on("first-of-several", "locks the first of several names", several,
			Wrong{Bug: "W-23", Scenario: "many-keys", Class: "double-grant", Original: "redisson-port-multi"},
			around(redisson.New(redisson.Options{}), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				r.Keys = r.Keys[:1]
				return l.Acquire(ctx, r)
			})),
		on("refused-several-kept", "keeps those of several names that it got when another one is refused",
			locks.Claims{Bounded: true, Several: true, Waits: true},
			Wrong{Bug: "W-23", Scenario: "many-keys", Class: "no-progress", Original: "redisson-port-multi"},
			around(setnx.New(), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				until := time.Now().Add(r.Wait)
				held := new(leases)
				for _, key := range r.Keys {
					for {
						lease, err := l.Acquire(ctx, locks.Request{Keys: []string{key}, TTL: r.TTL})
						if lease != nil {
							held.all = append(held.all, lease)
						}
						if err == nil {
							break
						}
						if !errors.Is(err, locks.ErrTaken) {
							return held, err
						}
						if ctx.Err() != nil || time.Now().After(until) {
							return nil, err
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
				return held, nil
			})),
		on("lease-of-the-first-try", "tries again after three seconds, and counts its lease from the first try",
			locks.Claims{Bounded: true, Waits: true},
			Wrong{Bug: "C-20", Known: "node-redlock #296, #299", Scenario: "rare-visits", Class: "granted-dead", Original: "redisson-port-spin"},
			around(setnx.New(), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				first := time.Now()
				for {
					lease, err := l.Acquire(ctx, locks.Request{Keys: r.Keys, TTL: r.TTL})
					if moved, ok := lease.(interface{ Moved(time.Time) }); ok {
						moved.Moved(first.Add(r.TTL))
					}
					if !errors.Is(err, locks.ErrTaken) || time.Since(first) > r.Wait || ctx.Err() != nil {
						return lease, err
					}
					time.Sleep(3 * time.Second) // longer than a lease
				}
			})),
		on("renewed-for-ever", "a release that fails leaves the renewal behind, which keeps the lock", exclusive,
			Wrong{Bug: "R-10", Known: "Redisson #1602, #1966, #2037, #3714 (3.16.3), #7272", Scenario: "watchdog", Class: "no-progress", Original: "redisson-port/watchdog=6s"},
			around(redisson.New(redisson.Options{Watchdog: 6 * time.Second}), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				r.Owner = "" // or its owner would enter it again
				lease, err := l.Acquire(ctx, r)
				renewed, ok := lease.(locks.Renewed)
				watched, _ := lease.(locks.Watched)
				if err != nil || !ok || watched == nil {
					return lease, err
				}
				return heldForEver{renewed, watched}, nil
			})),
		on("refresh-left-out", "grants a lease without a ttl that its caller must refresh, and the caller does not know", locks.Claims{Renewed: true},
			Wrong{Bug: "C-12", Known: "redislock, which has no refresh of its own", Scenario: "watchdog", Class: "double-grant", Original: "redisson-port/watchdog=6s"},
			around(setnx.New(), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				if r.TTL > 0 {
					return l.Acquire(ctx, r)
				}
				r.TTL = 6 * time.Second
				lease, err := l.Acquire(ctx, r)
				if lease == nil {
					return nil, err
				}
				return unrefreshed{lease, r.TTL}, err
			})),
		on("asks-without-pause", "polls without a pause while it waits", exclusive,
			Wrong{Bug: "R-30", Known: "Redisson's MultiLock 3.10.2; rueidislock #602 (v1.0.44)", Scenario: "long-holds", Class: "flood", Original: "redisson-port-spin"},
			around(redisson.New(redisson.Options{}), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
				until := time.Now().Add(r.Wait)
				r.Wait = 0
				for {
					lease, err := l.Acquire(ctx, r)
					if !errors.Is(err, locks.ErrTaken) || time.Now().After(until) || ctx.Err() != nil {
						return lease, err
					}
				}
			})),
	}
}

// redissonClaims are those of the re-entrant lock, with a change.
func redissonClaims(change func(*locks.Claims)) locks.Claims {
	c := locks.Claims{Bounded: true, Renewed: true, Watched: true, Reentrant: true, Waits: true}
	change(&c)
	return c
}
