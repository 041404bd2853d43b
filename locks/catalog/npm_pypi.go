package catalog

import (
	"regexp"
	"strconv"
	"time"

	"lockbench/locks"
	"lockbench/service/redis"
)

// The folders of build/guests with the programs that serve the libraries of npm and of PyPI.
var (
	npmGuest  = []string{"node/npm"}
	pypiGuest = []string{"python/pypi"}
)

// Why a library breaks a rule of the conformance suite.
const (
	waitsByRetries = "it waits by a number of retries, each after a delay with a random part, which can end before the time is over"
	givesUpEarly   = "it gives up when its next try would come after the end of the wait, up to one pause early"
	waitsByPauses  = "it waits by a number of pauses, of which the last is left out"
	waitsInBLPOP   = "its waiters block in BLPOP, which only a release ends: an expired lease wakes none of them"
	bailsOut       = "it returns with the third answer: the SET that a slow server has not answered can arrive after the release, and its key stays"
)

var (
	ioredisCareful = Option{
		Name: "careful", Default: "off",
		About: "on: one second for each answer, nothing is sent twice; off: as ioredis is by default, which sends again after a reconnect",
	}
	redisPyCareful = Option{
		Name: "careful", Default: "off",
		About: "on: one second for each answer, nothing is sent twice; off: as redis-py is by default, which tries eleven times",
	}
	redlockDrift  = Option{Name: "drift-factor", About: "driftFactor: the share of the ttl that clocks may part by", Default: "0.01"}
	redlockDelay  = Option{Name: "retry-delay", About: "retryDelay: the pause between two tries; a wait is as many tries as fit in it", Default: "200ms"}
	redlockJitter = Option{Name: "retry-jitter", About: "retryJitter: what chance adds to that pause or takes from it", Default: "100ms"}
)

// lease is the option for the lease of a lock that its library renews.
func lease(name, standard string) Option {
	return Option{Name: "lease", About: name + ": the lease where the scenario asks for no ttl", Default: standard, Conform: "3s"}
}

// npmAndPyPI are the locks of npm and of PyPI, each client in a process of its own.
func npmAndPyPI() []Lock {
	bounded := locks.Claims{Bounded: true, Waits: true}
	watched := locks.Claims{Bounded: true, Renewed: true, Watched: true, Waits: true}
	several := func(c locks.Claims) locks.Claims { c.Several = true; return c }
	independent := []locks.Topology{locks.Independent}
	semaphoreOptions := []Option{
		ioredisCareful, lease("lockTimeout", "10s"),
		{Name: "refresh", About: "refreshInterval: the pause between two renewals; 0s: four fifths of the lease", Default: "0s"},
		{Name: "retry-interval", About: "retryInterval: the pause between two tries of a waiter", Default: "10ms"},
	}
	universalOptions := func(delay string) []Option {
		return []Option{
			ioredisCareful, lease("ttl", "30s"),
			{Name: "retry-delay", About: "retryDelay: the pause between two tries; a wait is as many tries as fit in it", Default: delay},
		}
	}
	all := []Lock{
		{
			Card:  locks.Card{Name: "node-redlock-4", Family: locks.Majority, Claims: several(bounded)},
			About: "redlock 4 of npm on ioredis", Topologies: independent,
			Options: []Option{ioredisCareful, redlockDrift, redlockDelay, redlockJitter},
			Excused: map[string]string{"wait-kept": waitsByRetries},
			Like:    "redlock",
			Library: &Library{
				Version: "redlock 4.2.0, ioredis 5.11.1", Guests: npmGuest,
				Says: "strong guarantees in both single-redis and multi-redis environments", Where: "README.md, Redlock",
			},
		},
		{
			Card:  locks.Card{Name: "node-redlock-5", Family: locks.Majority, Claims: several(watched)},
			About: "redlock 5 (beta) of npm on ioredis; using() renews it", Topologies: independent,
			Options: []Option{
				ioredisCareful, redlockDrift, redlockDelay, redlockJitter,
				{Name: "retry-count", About: "retryCount: how often an extension or a release is tried again", Default: "10"},
				{Name: "extension-threshold", About: "automaticExtensionThreshold: how long before its end using() extends a lease", Default: "500ms"},
				lease("duration of using()", "5s"),
			},
			Excused: map[string]string{"wait-kept": waitsByRetries},
			Like:    "redlock",
			Library: &Library{
				Version: "redlock 5.0.0-beta.2, ioredis 5.11.1", Guests: npmGuest,
				Says: "strong guarantees in both single-redis and multi-redis environments", Where: "README.md, Redlock",
			},
		},
		{
			Card:  locks.Card{Name: "redis-semaphore", Family: locks.SingleStore, Claims: watched},
			About: "Mutex of redis-semaphore on ioredis", Topologies: anyMaster, Options: semaphoreOptions,
			Like: "redisson",
			Library: &Library{
				Version: "redis-semaphore 5.8.0, ioredis 5.11.1", Guests: npmGuest,
				Says: "a mutex that is refreshed while it is held; onLockLost is called when a loss is detected", Where: "README.md, Mutex",
			},
		},
		{
			Card:  locks.Card{Name: "redis-semaphore-redlock", Family: locks.Majority, Claims: watched},
			About: "RedlockMutex of redis-semaphore on ioredis", Topologies: independent, Options: semaphoreOptions,
			Like: "redlock",
			Library: &Library{
				Version: "redis-semaphore 5.8.0, ioredis 5.11.1", Guests: npmGuest,
				Says: "a distributed mutex by the Redlock algorithm", Where: "README.md, RedlockMutex",
			},
		},
		{
			Card:  locks.Card{Name: "redlock-universal", Family: locks.SingleStore, Claims: watched},
			About: "createLock of redlock-universal on ioredis; using() renews it", Topologies: anyMaster, Options: universalOptions("100ms"),
			Like: "redisson",
			Library: &Library{
				Version: "redlock-universal 0.8.5, ioredis 5.11.1", Guests: npmGuest,
				Says: "using() auto-extends the lock, and its signal is aborted when an extension fails", Where: "README.md, using()",
			},
		},
		{
			Card:  locks.Card{Name: "redlock-universal-redlock", Family: locks.Majority, Claims: watched},
			About: "createRedlock of redlock-universal on ioredis; using() renews it", Topologies: independent, Options: universalOptions("200ms"),
			Like: "redlock",
			Library: &Library{
				Version: "redlock-universal 0.8.5, ioredis 5.11.1", Guests: npmGuest,
				Says: "consensus: locks are safe even if nodes crash", Where: "README.md, Cluster vs Redlock",
			},
		},
		{
			Card:  locks.Card{Name: "redis-py-pypi", Family: locks.SingleStore, Claims: bounded},
			About: "redis-py's own Lock, the newest of PyPI", Topologies: oneMaster,
			Options: []Option{redisPyCareful, {Name: "sleep", About: "sleep: the pause between two tries of a waiter", Default: "100ms"}},
			Excused: map[string]string{"wait-kept": givesUpEarly},
			Like:    "set-nx",
			Library: &Library{
				Version: "redis 8.1.0", Guests: pypiGuest,
				Says: "a shared, distributed lock", Where: "redis/lock.py, class Lock",
			},
		},
		{
			Card:  locks.Card{Name: "python-redis-lock", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Renewed: true, Waits: true}},
			About: "python-redis-lock; leases and waits are whole seconds", Topologies: oneMaster,
			Options: []Option{redisPyCareful, lease("expire", "60s")},
			Excused: map[string]string{"wait-expired": waitsInBLPOP},
			Like:    "redisson",
			Library: &Library{
				Version: "python-redis-lock 4.0.1, redis 8.1.0", Guests: pypiGuest,
				Says: "auto_renewal renews the lock so that it does not expire for as long as it is held", Where: "redis_lock/__init__.py, class Lock",
			},
		},
		{
			Card:  locks.Card{Name: "pottery", Family: locks.Majority, Claims: bounded},
			About: "Redlock of pottery, in Python; extended three times at most", Topologies: independent,
			Options: []Option{redisPyCareful},
			Excused: map[string]string{"in-turn": bailsOut, "no-residue": bailsOut},
			Like:    "redlock",
			Library: &Library{
				Version: "pottery 3.0.1, redis 8.1.0", Guests: pypiGuest,
				Says: "a mutually exclusive locking primitive without a single point of failure", Where: "pottery/redlock.py, class Redlock",
			},
		},
		{
			Card:  locks.Card{Name: "sherlock", Family: locks.SingleStore, Claims: bounded},
			About: "RedisLock of sherlock, in Python; leases are whole seconds", Topologies: oneMaster,
			Options: []Option{
				redisPyCareful,
				{Name: "expire", About: "ttl: what the scenario asks for; none: locks never expire, as expire=None is documented", Default: "ttl"},
				{Name: "retry-interval", About: "retry_interval: the pause between two tries of a waiter", Default: "100ms"},
			},
			Excused: map[string]string{"wait-kept": waitsByPauses},
			Like:    "set-nx",
			Library: &Library{
				Version: "sherlock 0.4.1, redis 8.1.0", Guests: pypiGuest,
				Says: "distributed inter-process locks with a choice of backend", Where: "README, Sherlock",
			},
		},
	}
	for i := range all {
		l := &all[i]
		l.Service, l.Library.Real = redis.Name, true
		l.New = func(options map[string]string) (locks.Opener, error) {
			if err := checkGuestOptions(l, options); err != nil {
				return nil, err
			}
			return nil, servedElsewhere{l.Name, true}
		}
	}
	return all
}

var (
	guestDuration = regexp.MustCompile(`^[0-9]{1,8}(ms|s|m)$`)
	guestShare    = regexp.MustCompile(`^0(\.[0-9]{1,9})?$`)
)

// checkGuestOptions refuses values that the guest would refuse, before it starts.
func checkGuestOptions(l *Lock, given map[string]string) error {
	if err := checkNames(l.Name, l.Options, given); err != nil {
		return err
	}
	for _, o := range l.Options {
		v, ok := given[o.Name]
		if !ok {
			continue
		}
		switch o.Name {
		case "careful", "db-time", "listener":
			if v != "on" && v != "off" {
				return badValue(l.Name, o.Name, v, "on or off")
			}
		case "expire":
			if v != "ttl" && v != "none" {
				return badValue(l.Name, o.Name, v, "ttl or none")
			}
		case "type":
			if v != "spin" && v != "pubsub" {
				return badValue(l.Name, o.Name, v, "spin or pubsub")
			}
		case "pool":
			if n, err := strconv.Atoi(v); err != nil || n < 1 || n > 64 {
				return badValue(l.Name, o.Name, v, "a whole number from 1 to 64")
			}
		case "drift-factor":
			if !guestShare.MatchString(v) {
				return badValue(l.Name, o.Name, v, "a share such as 0.01")
			}
		case "retry-count":
			if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 1000 {
				return badValue(l.Name, o.Name, v, "a whole number from 0 to 1000")
			}
		default:
			d, err := time.ParseDuration(v)
			switch {
			case err != nil || !guestDuration.MatchString(v):
				return badValue(l.Name, o.Name, v, "a duration such as 200ms or 5s")
			case d > durationMax:
				return tooLong(l.Name, o.Name, v)
			case d == 0 && (o.Name == "lease" || o.Name == "retry-delay"):
				return badValue(l.Name, o.Name, v, "a duration such as 200ms or 5s")
			}
		}
	}
	return nil
}
