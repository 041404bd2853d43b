package catalog

import (
	"time"

	"lockbench/locks"
	"lockbench/locks/redisson"
)

// redissonOptions are the options of all ports of Redisson's locks. Those that bring back an earlier version of Redisson
// name it.
var redissonOptions = []Option{
	ownLease(conforming("3s", lasting("watchdog", "lease of requests without a ttl, renewed each third of it", "30s", 3*time.Millisecond))),
	word("renewal", "today: tried again after a failure; chained: until 3.43, over after the first", "today", "chained"),
	onOff("notify", "tell a holder that its renewed lease is lost, which Redisson does not; off: as Redisson", "on"),
	onOff("latch", "remember what a release answered, for when it is sent again; off: until 3.24", "on"),
	count("retries", "how often a release is sent again if no answer comes", "4", 0, 1000),
	lasting("retry-delay", "the longest pause before that; half of it for the first", "2s", time.Millisecond),
}

// redissonPorts are the Go ports of Redisson's locks.
func redissonPorts() []Lock {
	entry := func(name, about string, open func(redisson.Options) locks.Opener, more ...Option) Lock {
		return Lock{
			Card:  locks.Card{Name: name, Claims: locks.Claims{Bounded: true, Renewed: true, Watched: true, Reentrant: true, Waits: true}},
			About: "Go port of Redisson 4.7's " + about, Group: "Go ports of Redisson's locks", Woken: true,
			options: append(more, redissonOptions...),
			open:    func(v values) locks.Opener { return open(redissonSettings(v)) },
		}
	}
	plain := entry("redisson-port", "RLock: re-entrant, woken by messages, renewed by a watchdog", redisson.New)
	plain.Claims.Strict = true
	fair := entry("redisson-port-fair", "FairLock: RLock with a queue that depends on the clients' clocks", redisson.NewFair,
		word("form", "of the queue: F4 today's, F3 that of 3.13.3 to 3.31", "F4", "F3"))
	fair.Claims.Fair, fair.WritesTime, fair.Queues = true, true, true
	fair = fair.excused("R-37: today's fair lock answers that a release of an expired lock went well", "release-after-expiry")
	rw := entry("redisson-port-rw", "ReadWriteLock: many readers or one writer, re-entrant", redisson.NewReadWrite)
	rw.Claims.Strict, rw.Claims.Shared, rw.Like = true, true, "redisson-port-spin"
	rw = rw.excused("R-23: a writer's release wakes readers that sleep; one that is about to sleep then sleeps for a whole lease",
		"wait-shared")
	fenced := entry("redisson-port-fenced", "FencedLock: RLock whose grants are numbered", redisson.NewFenced)
	fenced.Claims.Strict, fenced.Claims.Fenced = true, true
	spin := entry("redisson-port-spin", "SpinLock: RLock that polls instead of listening", redisson.NewSpin)
	spin.Claims.Strict, spin.Woken = true, false
	wait := entry("redisson-port-wait", "RLock with WAIT: granted only if a replica has confirmed it", redisson.NewWait,
		lasting("sync-timeout", "how long to wait for replicas", "1s", time.Millisecond),
		word("replicas", "counted: a master that once reported no replica is not asked again and grants without one, as in Redisson since 3.27.0; required: each grant waits for a replica", "counted", "required"))
	wait.Confirms = true
	multi := entry("redisson-port-multi", "MultiLock: all of several names on all of several masters, taken in turn", redisson.NewMulti)
	multi.Claims.Several, multi.Topologies = true, append(independent, anyMaster...)
	red := entry("redisson-port-redlock", "RedLock: a majority of masters, asked in turn, without a check of validity", redisson.NewRedLock)
	red.Topologies = independent
	return []Lock{plain, fair, rw, fenced, spin, wait, multi, red}
}

// redissonSettings returns the settings of a port. Those that the lock does not have are their defaults.
func redissonSettings(v values) redisson.Options {
	r := redisson.Options{
		Watchdog: v.duration("watchdog"), Chained: v["renewal"] == "chained", Silent: v["notify"] == "off", NoLatch: v["latch"] == "off",
		Retries: v.number("retries"), RetryDelay: v.duration("retry-delay"),
		OldQueue: v["form"] == "F3", RequireReplica: v["replicas"] == "required", SyncTimeout: v.duration("sync-timeout"),
	}
	if r.Retries == 0 {
		r.Retries = -1 // none; 0 is the default of package redisson
	}
	return r
}
