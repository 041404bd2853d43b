package catalog

import (
	"slices"
	"strconv"
	"time"

	"lockbench/locks"
	"lockbench/locks/redisson"
	"lockbench/service/redis"
)

// The locks of the Redisson family. Options that bring back what Redisson once did,
// or what an article printed, say so.
var (
	redissonOptions = []Option{
		{Name: "watchdog", About: "lease of those who ask for none (ttl 0), renewed each third of it", Default: "30s", Conform: "3s"},
		{Name: "renewal", About: "today: tried again after a failure; chained: until 3.43, over after the first", Default: "today"},
		{Name: "notify", About: "tell a holder that its renewed lease is lost, which Redisson does not; off: as Redisson", Default: "on"},
		{Name: "latch", About: "remember what a release answered, for when it is sent again; off: until 3.24", Default: "on"},
		{Name: "retries", About: "how often a release is sent again if nobody answers", Default: "4"},
		{Name: "retry-delay", About: "the longest pause before that; half of it for the first", Default: "2s"},
	}
	fairOptions = append(slices.Clone(redissonOptions),
		Option{Name: "form", About: "of the queue: F4 today's, F3 to 3.31, F2 to 3.13.2, F1 to 3.11.0, F0 from an article", Default: "F4"},
		Option{Name: "fair-wait", About: "how long a waiter that names no time is thought to live", Default: "5m"})
	spinOptions = append(slices.Clone(redissonOptions),
		Option{Name: "backoff", About: "pauses between tries: exponential, 1ms to 128ms, or constant, 64ms", Default: "exponential"})
	waitOptions = append(slices.Clone(redissonOptions),
		Option{Name: "sync-timeout", About: "how long to wait for replicas", Default: "1s"})
	multiOptions = append(slices.Clone(redissonOptions),
		Option{Name: "child-lease", About: "of each lock while it waits for the others: doubled, twice the wait, or plain, the caller's, until 3.1", Default: "doubled"})
)

var (
	anyMaster     = []locks.Topology{locks.Single, locks.Replicated, redis.Sentinel, redis.Cluster}
	redissonClaim = locks.Claims{Bounded: true, Renewed: true, Watched: true, Reentrant: true, Waits: true}
)

// claims is redissonClaim with changes.
func claims(change func(*locks.Claims)) locks.Claims {
	c := redissonClaim
	change(&c)
	return c
}

// redissonGroup is the heading of the family in tables.
const redissonGroup = "Redisson's"

// redissonLocks are the entries of the family.
func redissonLocks() []Lock {
	return []Lock{
		{
			Card: locks.Card{
				Name: "redisson", Family: locks.SingleStore,
				Claims: claims(func(c *locks.Claims) { c.Strict = true }),
			},
			About:      "Go port of Redisson 4.7's RLock: re-entrant, woken by messages, renewed by a watchdog",
			Group:      redissonGroup,
			Topologies: anyMaster,
			Options:    redissonOptions,
			Woken:      true,
			New:        newRedisson("redisson", redissonOptions, redisson.New),
		},
		{
			Card: locks.Card{
				Name: "redisson-fair", Family: locks.SingleStore,
				Claims: claims(func(c *locks.Claims) { c.Fair = true }),
			},
			About:      "Go port of Redisson 4.7's FairLock: RLock with a queue that stands on the clients' clocks",
			Group:      redissonGroup,
			Topologies: anyMaster,
			Options:    fairOptions,
			Woken:      true,
			WritesTime: true,
			Excused:    map[string]string{"release-after-expiry": "R-37: today's fair lock answers that a release of an expired lock went well"},
			New:        newRedisson("redisson-fair", fairOptions, redisson.NewFair),
		},
		{
			Card: locks.Card{
				Name: "redisson-rw", Family: locks.SingleStore,
				Claims: claims(func(c *locks.Claims) { c.Strict, c.Shared = true, true }),
			},
			Like:       "redisson-spin",
			About:      "Go port of Redisson 4.7's ReadWriteLock: many readers or one writer, re-entrant",
			Group:      redissonGroup,
			Topologies: anyMaster,
			Options:    redissonOptions,
			Woken:      true,
			Excused:    map[string]string{"wait-shared": "R-23: a writer's release wakes those who sleep, and not who is about to; that one sleeps for a whole lease"},
			New:        newRedisson("redisson-rw", redissonOptions, redisson.NewReadWrite),
		},
		{
			Card: locks.Card{
				Name: "redisson-fenced", Family: locks.SingleStore,
				Claims: claims(func(c *locks.Claims) { c.Strict, c.Fenced = true, true }),
			},
			About:      "Go port of Redisson 4.7's FencedLock: RLock whose grants are numbered",
			Group:      redissonGroup,
			Topologies: anyMaster,
			Options:    redissonOptions,
			Woken:      true,
			New:        newRedisson("redisson-fenced", redissonOptions, redisson.NewFenced),
		},
		{
			Card: locks.Card{
				Name: "redisson-spin", Family: locks.SingleStore,
				Claims: claims(func(c *locks.Claims) { c.Strict = true }),
			},
			About:      "Go port of Redisson 4.7's SpinLock: RLock that polls instead of listening",
			Group:      redissonGroup,
			Topologies: anyMaster,
			Options:    spinOptions,
			New:        newRedisson("redisson-spin", spinOptions, redisson.NewSpin),
		},
		{
			Card:       locks.Card{Name: "redisson-wait", Family: locks.SingleStore, Claims: redissonClaim},
			About:      "Go port of Redisson 4.7's RLock with WAIT: granted only if a replica has confirmed it",
			Group:      redissonGroup,
			Topologies: anyMaster,
			Options:    waitOptions,
			Woken:      true,
			New:        newRedisson("redisson-wait", waitOptions, redisson.NewWait),
		},
		{
			Card: locks.Card{
				Name: "redisson-multi", Family: locks.Majority,
				Claims: claims(func(c *locks.Claims) { c.Several = true }),
			},
			About:      "Go port of Redisson 4.7's MultiLock: all of several names on all of several masters, taken in turn",
			Group:      redissonGroup,
			Topologies: append([]locks.Topology{locks.Independent}, anyMaster...),
			Options:    multiOptions,
			Woken:      true,
			New:        newRedisson("redisson-multi", multiOptions, redisson.NewMulti),
		},
		{
			Card:       locks.Card{Name: "redisson-redlock", Family: locks.Majority, Claims: redissonClaim},
			About:      "Go port of Redisson 4.7's RedLock: a majority of masters, asked in turn, without a check of validity",
			Group:      redissonGroup,
			Topologies: []locks.Topology{locks.Independent},
			Options:    multiOptions,
			Woken:      true,
			New:        newRedisson("redisson-redlock", multiOptions, redisson.NewRedLock),
		},
	}
}

// newRedisson makes the New of a lock of the family.
func newRedisson(lock string, has []Option, open func(redisson.Options) locks.Opener) func(map[string]string) (locks.Opener, error) {
	return func(given map[string]string) (locks.Opener, error) {
		if err := checkNames(lock, has, given); err != nil {
			return nil, err
		}
		var o redisson.Options
		if err := readRedisson(lock, given, &o); err != nil {
			return nil, err
		}
		return open(o), nil
	}
}

// readRedisson reads the options of all locks of the family.
func readRedisson(lock string, given map[string]string, o *redisson.Options) error {
	for name, d := range map[string]*time.Duration{
		"watchdog": &o.Watchdog, "fair-wait": &o.FairWait, "sync-timeout": &o.SyncTimeout, "retry-delay": &o.RetryDelayMax,
	} {
		v, ok := given[name]
		if !ok {
			continue
		}
		parsed, err := time.ParseDuration(v)
		if err != nil || parsed < time.Millisecond || name == "watchdog" && parsed < 3*time.Millisecond {
			return badValue(lock, name, v, "a duration such as 5s, of at least a few milliseconds")
		}
		if parsed > durationMax {
			return tooLong(lock, name, v)
		}
		*d = parsed
	}
	o.RetryDelayMin = o.RetryDelayMax / 2
	for name, b := range map[string]struct {
		set     *bool
		yes, no string // the words for true and false
	}{
		"renewal":     {&o.Chained, "chained", "today"},
		"notify":      {&o.Silent, "off", "on"},
		"latch":       {&o.NoLatch, "off", "on"},
		"backoff":     {&o.Constant, "constant", "exponential"},
		"child-lease": {&o.PlainLease, "plain", "doubled"},
	} {
		switch v, ok := given[name]; {
		case ok && v != b.yes && v != b.no:
			return badValue(lock, name, v, b.no+" or "+b.yes)
		case ok:
			*b.set = v == b.yes
		}
	}
	if v, ok := given["retries"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return badValue(lock, "retries", v, "a whole number from 0")
		}
		if o.Retries = n; n == 0 {
			o.Retries = -1
		}
	}
	if v, ok := given["form"]; ok {
		if o.Form = redisson.Form(v); !slices.Contains(redisson.Forms, o.Form) {
			return badValue(lock, "form", v, "one of F0, F1, F2, F3, F4")
		}
	}
	return nil
}
