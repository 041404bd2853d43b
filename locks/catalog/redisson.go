package catalog

import (
	"time"

	"lockbench/locks"
	"lockbench/locks/redisson"
)

// redissonLocks are the Go ports of Redisson's locks. Options that bring back an earlier version of
// Redisson name it.
func redissonLocks() []Lock {
	entry := func(name, about string, change func(*locks.Claims), open func(redisson.Options) locks.Opener, more ...func(options, *redisson.Options)) Lock {
		claims := locks.Claims{Bounded: true, Renewed: true, Watched: true, Reentrant: true, Waits: true}
		if change != nil {
			change(&claims)
		}
		return Lock{
			Card: locks.Card{Name: name, Claims: claims}, About: "Go port of Redisson 4.7's " + about,
			Group: "Redisson's", Woken: true,
			declare: func(o options) func() locks.Opener { return declareRedisson(o, open, more) },
		}
	}
	fair := entry("redisson-fair", "FairLock: RLock with a queue that depends on the clients' clocks",
		func(c *locks.Claims) { c.Fair = true }, redisson.NewFair,
		func(o options, r *redisson.Options) {
			o.word((*string)(&r.Form), "form", "of the queue: F4 today's, F3 to 3.31, F2 to 3.13.2, F1 to 3.11.0, F0 from an article", "F4", "F3", "F2", "F1", "F0")
			o.duration(&r.FairWait, "fair-wait", "how long a waiter without a time limit is considered alive", "5m", time.Millisecond)
		})
	fair.WritesTime = true
	fair.excuse("release-after-expiry", "R-37: today's fair lock answers that a release of an expired lock went well")
	rw := entry("redisson-rw", "ReadWriteLock: many readers or one writer, re-entrant",
		func(c *locks.Claims) { c.Strict, c.Shared = true, true }, redisson.NewReadWrite)
	rw.Like = "redisson-spin"
	rw.excuse("wait-shared", "R-23: a writer's release wakes readers that sleep; one that is about to sleep then sleeps for a whole lease")
	spin := entry("redisson-spin", "SpinLock: RLock that polls instead of listening",
		func(c *locks.Claims) { c.Strict = true }, redisson.NewSpin,
		func(o options, r *redisson.Options) {
			o.choice(&r.Constant, "backoff", "pauses between tries: exponential, 1ms to 128ms, or constant, 64ms", "exponential", "constant")
		})
	spin.Woken = false
	multi := entry("redisson-multi", "MultiLock: all of several names on all of several masters, taken in turn",
		func(c *locks.Claims) { c.Several = true }, redisson.NewMulti)
	multi.Topologies = append(independent, anyMaster...)
	red := entry("redisson-redlock", "RedLock: a majority of masters, asked in turn, without a check of validity", nil, redisson.NewRedLock)
	red.Topologies = independent
	return []Lock{
		entry("redisson", "RLock: re-entrant, woken by messages, renewed by a watchdog", func(c *locks.Claims) { c.Strict = true }, redisson.New),
		fair,
		rw,
		entry("redisson-fenced", "FencedLock: RLock whose grants are numbered", func(c *locks.Claims) { c.Strict, c.Fenced = true, true }, redisson.NewFenced),
		spin,
		entry("redisson-wait", "RLock with WAIT: granted only if a replica has confirmed it", nil, redisson.NewWait,
			func(o options, r *redisson.Options) {
				o.duration(&r.SyncTimeout, "sync-timeout", "how long to wait for replicas", "1s", time.Millisecond)
			}),
		multi,
		red,
	}
}

// declareRedisson declares the options that all locks of the family have, and more.
func declareRedisson(o options, open func(redisson.Options) locks.Opener, more []func(options, *redisson.Options)) func() locks.Opener {
	var r redisson.Options
	o.duration(&r.Watchdog, "watchdog", "lease of requests without a ttl, renewed each third of it", "30s", 3*time.Millisecond)
	o.conform["watchdog"] = "3s"
	o.choice(&r.Chained, "renewal", "today: tried again after a failure; chained: until 3.43, over after the first", "today", "chained")
	o.choice(&r.Silent, "notify", "tell a holder that its renewed lease is lost, which Redisson does not; off: as Redisson", "on", "off")
	o.choice(&r.NoLatch, "latch", "remember what a release answered, for when it is sent again; off: until 3.24", "on", "off")
	o.number(&r.Retries, "retries", "how often a release is sent again if no answer comes", "4", 0, 1000)
	o.duration(&r.RetryDelayMax, "retry-delay", "the longest pause before that; half of it for the first", "2s", time.Millisecond)
	for _, declare := range more {
		declare(o, &r)
	}
	return func() locks.Opener {
		r.RetryDelayMin = r.RetryDelayMax / 2
		if r.Retries == 0 {
			r.Retries = -1 // none; 0 is the default of package redisson
		}
		return open(r)
	}
}
