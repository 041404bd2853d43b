package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockbench/locks"
	"lockbench/service/redis"
)

// redissonVersions are the builds of Redisson that scripts/guests makes. The first one is the default.
var redissonVersions = []string{"4.7.0", "3.15.6", "3.13.6"}

// redissonOwn is the value that leaves an option to Redisson.
const redissonOwn = "default"

// redissonJarOptions are settings of Redisson's Config. The name of the setting stands in the line.
var redissonJarOptions = []Option{
	{Name: "version", About: "of org.redisson:redisson: 4.7.0, 3.15.6 or 3.13.6", Default: redissonVersions[0]},
	{Name: "watchdog", About: "lockWatchdogTimeout: the lease where the scenario asks for no ttl, renewed each third of it", Default: "30s", Conform: "3s"},
	{Name: "timeout", About: "timeout: how long a command waits for its answer", Default: "3s"},
	{Name: "retries", About: "retryAttempts: how often a command is sent again; default: 3, in 4.7.0 4", Default: redissonOwn},
	{Name: "retry-interval", About: "retryInterval: the pause before that; default: 1.5s, in 4.7.0 between 1s and 2s", Default: redissonOwn},
	{Name: "synced-slaves", About: "checkLockSyncedSlaves: on: a grant that no replica confirmed is refused; off; 4.7.0 only", Default: redissonOwn},
	{Name: "sync-timeout", About: "slavesSyncTimeout: how long replicas may take to confirm, 1s by default; 4.7.0 only", Default: redissonOwn},
	{Name: "scan-interval", About: "scanInterval of Sentinel and of a cluster: how often clients ask for the topology; default: 5s, Sentinel 1s", Default: redissonOwn, Conform: "1h"},
	{Name: "ping-interval", About: "pingConnectionInterval: how often each idle connection is tried by a PING; 0s: never", Default: "30s", Conform: "0s"},
	{Name: "pool", About: "connectionMinimumIdleSize: idle connections to each server; Redisson itself keeps 24", Default: "4"},
}

// redDeaf is why a release of RedissonRedLock cannot be asked whether the lock was held.
const redDeaf = "the unlock of RedissonRedLock ignores what the masters answer, so it always succeeds"

// redissonJarLocks are the locks of Redisson itself, each client in a JVM of its own.
func redissonJarLocks() []Lock {
	claims := locks.Claims{Bounded: true, Renewed: true, Reentrant: true, Waits: true}
	with := func(change func(*locks.Claims)) locks.Claims {
		c := claims
		change(&c)
		return c
	}
	all := []Lock{
		{
			Card:  locks.Card{Name: "redisson-jar", Family: locks.SingleStore, Claims: claims},
			About: "Redisson's RLock, in Java", Woken: true,
			Like: "redisson",
			Library: &Library{
				Says:  "a client never keeps a lock that was not safely replicated and could later be lost to a failover",
				Where: "docs/data-and-services/locks-and-synchronizers.md, Checking replica synchronization",
			},
		},
		{
			Card:  locks.Card{Name: "redisson-jar-fair", Family: locks.SingleStore, Claims: with(func(c *locks.Claims) { c.Fair = true })},
			About: "Redisson's FairLock, in Java", Woken: true, WritesTime: true,
			Excused: map[string]string{"release-after-expiry": "R-37: the fair lock answers that a release of an expired lock went well"},
			Like:    "redisson-fair",
			Library: &Library{
				Says:  "threads acquire it in the order in which they requested it; a thread that died delays the others by 5 s",
				Where: "docs/data-and-services/locks-and-synchronizers.md, Fair Lock",
			},
		},
		{
			Card:  locks.Card{Name: "redisson-jar-rw", Family: locks.SingleStore, Claims: with(func(c *locks.Claims) { c.Shared = true })},
			About: "Redisson's ReadWriteLock, in Java", Woken: true,
			Like: "redisson-rw",
			Library: &Library{
				Says:  "multiple ReadLock owners and only one WriteLock owner are allowed",
				Where: "docs/data-and-services/locks-and-synchronizers.md, ReadWriteLock",
			},
		},
		{
			Card:  locks.Card{Name: "redisson-jar-fenced", Family: locks.SingleStore, Claims: with(func(c *locks.Claims) { c.Fenced = true })},
			About: "Redisson's FencedLock, in Java; only in 4.7.0", Woken: true,
			Like: "redisson-fenced",
			Library: &Library{
				Says:  "returns a monotonically increasing token on each acquisition",
				Where: "docs/data-and-services/locks-and-synchronizers.md, Fenced Lock",
			},
		},
		{
			Card:  locks.Card{Name: "redisson-jar-spin", Family: locks.SingleStore, Claims: claims},
			About: "Redisson's SpinLock, in Java; not in 3.13.6",
			Like:  "redisson-spin",
			Library: &Library{
				Says:  "RLock with exponential backoff in place of pub/sub, for thousands of locks in a short time",
				Where: "docs/data-and-services/locks-and-synchronizers.md, Spin Lock",
			},
		},
		{
			Card:  locks.Card{Name: "redisson-jar-multi", Family: locks.Majority, Claims: with(func(c *locks.Claims) { c.Several = true })},
			About: "Redisson's MultiLock, in Java: all of several names on all of several masters", Woken: true,
			Topologies: append([]locks.Topology{locks.Independent}, anyMaster...),
			Like:       "redisson-multi",
			Library: &Library{
				Says:  "groups locks, which may belong to different Redisson instances, and handles them as a single lock",
				Where: "docs/data-and-services/locks-and-synchronizers.md, MultiLock",
			},
		},
		{
			Card:  locks.Card{Name: "redisson-jar-red", Family: locks.Majority, Claims: claims},
			About: "Redisson's RedissonRedLock, in Java, which is deprecated", Woken: true,
			Topologies: []locks.Topology{locks.Independent},
			Excused: map[string]string{
				"release-after-expiry": redDeaf, "stranger": redDeaf, "watchdog-ends": redDeaf,
			},
			Like: "redisson-redlock",
			Library: &Library{
				Says:  "deprecated, superseded by RLock with replica-synchronization checking and by RFencedLock",
				Where: "docs/data-and-services/locks-and-synchronizers.md, RedLock",
			},
		},
	}
	for i := range all {
		l := &all[i]
		l.Service, l.Options = redis.Name, redissonJarOptions
		if l.Topologies == nil {
			l.Topologies = anyMaster
		}
		l.Library.Version, l.Library.Real = "org.redisson:redisson "+redissonVersions[0]+", 3.15.6 and 3.13.6", true
		for _, v := range redissonVersions {
			l.Library.Guests = append(l.Library.Guests, "java/redisson-"+v)
		}
		l.New = func(options map[string]string) (locks.Opener, error) {
			if err := checkRedissonJar(l.Name, options); err != nil {
				return nil, err
			}
			return nil, servedElsewhere{l.Name, true}
		}
	}
	return all
}

// checkRedissonJar refuses options that the version in question does not understand, before a JVM starts.
func checkRedissonJar(lock string, given map[string]string) error {
	if err := checkNames(lock, redissonJarOptions, given); err != nil {
		return err
	}
	version := redissonVersions[0]
	if v, ok := given["version"]; ok {
		version = v
	}
	if !slices.Contains(redissonVersions, version) {
		return badValue(lock, "version", version, "one of 4.7.0, 3.15.6, 3.13.6")
	}
	newest := version == redissonVersions[0]
	switch {
	case lock == "redisson-jar-fenced" && !newest:
		return fmt.Errorf("%s: Redisson %s has no FencedLock; take version=%s", lock, version, redissonVersions[0])
	case lock == "redisson-jar-spin" && version == "3.13.6":
		return fmt.Errorf("%s: Redisson 3.13.6 has no SpinLock; take version=4.7.0 or 3.15.6", lock)
	}
	for _, o := range redissonJarOptions {
		v, ok := given[o.Name]
		if !ok || v == o.Default {
			continue
		}
		switch o.Name {
		case "synced-slaves", "sync-timeout":
			if !newest {
				return fmt.Errorf("option %s of %s: Redisson %s does not have it; it is of version %s", o.Name, lock, version, redissonVersions[0])
			}
		}
		switch o.Name {
		case "version":
		case "synced-slaves":
			if v != "on" && v != "off" {
				return badValue(lock, o.Name, v, "on, off or default")
			}
		case "retries", "pool":
			if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 64 {
				return badValue(lock, o.Name, v, "a whole number from 0 to 64")
			}
		default:
			d, err := time.ParseDuration(v)
			if o.Name == "ping-interval" && err == nil && d == 0 {
				continue
			}
			if err != nil || d < 3*time.Millisecond || d%time.Millisecond != 0 {
				return badValue(lock, o.Name, v, "a duration such as 3s, of whole milliseconds and at least 3ms")
			}
			if d > durationMax {
				return tooLong(lock, o.Name, v)
			}
		}
	}
	return nil
}
