package catalog

import (
	"flag"
	"fmt"
	"time"

	"lockbench/locks"
	"lockbench/service/mariadb"
	"lockbench/service/postgres"
	"lockbench/service/zookeeper"
)

// redissonVersions are the builds of Redisson that scripts/guests makes. The first one is the default.
var redissonVersions = []string{"4.7.0", "3.15.6", "3.13.6"}

// redissonJarOptions are settings of Redisson's Config. Each description begins with the setting's name.
// The value default leaves a setting to Redisson.
var redissonJarOptions = served(
	word("version", "of org.redisson:redisson: 4.7.0, 3.15.6 or 3.13.6", redissonVersions...),
	conforming("3s", simple("watchdog", "lockWatchdogTimeout: the lease where the scenario asks for no ttl, renewed each third of it", "30s", 3*time.Millisecond)),
	simple("timeout", "timeout: how long a command waits for its answer", "3s", 3*time.Millisecond),
	func(o options) string {
		o.number(new(int), "retries", "retryAttempts: how often a command is sent again; default: 3, in 4.7.0 4", "default", 0, 64)
		return "retries"
	},
	simple("retry-interval", "retryInterval: the pause before that; default: 1.5s, in 4.7.0 between 1s and 2s", "default", 3*time.Millisecond),
	word("synced-slaves", "checkLockSyncedSlaves: on: a grant that no replica confirmed is refused; off; 4.7.0 only", "default", "on", "off"),
	simple("sync-timeout", "slavesSyncTimeout: how long replicas may take to confirm, 1s by default; 4.7.0 only", "default", 3*time.Millisecond),
	conforming("60m", simple("scan-interval", "scanInterval of Sentinel and of a cluster: how often clients ask for the topology; default: 5s, Sentinel 1s", "default", 3*time.Millisecond)),
	conforming("0s", simple("ping-interval", "pingConnectionInterval: how often each idle connection is tried by a PING; 0s: never", "30s", 0)),
	count("pool", "connectionMinimumIdleSize: idle connections to each server; Redisson itself keeps 24", "4", 0, 64),
)

// redissonJarLocks are the locks of Redisson itself, each client in a JVM of its own.
func redissonJarLocks() []Lock {
	const releaseIgnored = "the unlock of RedissonRedLock ignores what the masters answer, so it always succeeds"
	var guests []string
	for _, v := range redissonVersions {
		guests = append(guests, "java/redisson-"+v)
	}
	entry := func(name, about, page, says string, change func(*Lock)) Lock {
		l := Lock{
			Card:  locks.Card{Name: "redisson-jar" + name, Claims: locks.Claims{Bounded: true, Renewed: true, Reentrant: true, Waits: true}},
			About: "Redisson's " + about, Woken: true, Like: "redisson" + name,
			declare: redissonJarOptions, check: checkRedissonJar,
			Library: &Library{
				Version: "org.redisson:redisson " + redissonVersions[0] + ", 3.15.6 and 3.13.6", Guests: guests,
				Says: says, Where: "docs/data-and-services/locks-and-synchronizers.md, " + page,
			},
		}
		change(&l)
		return l
	}
	return []Lock{
		entry("", "RLock, in Java", "Checking replica synchronization",
			"a client never keeps a lock that was not safely replicated and could later be lost to a failover", func(*Lock) {}),
		entry("-fair", "FairLock, in Java", "Fair Lock",
			"threads acquire it in the order in which they requested it; a thread that died delays the others by 5 s", func(l *Lock) {
				l.Claims.Fair, l.WritesTime = true, true
				l.excuse("release-after-expiry", "R-37: the fair lock answers that a release of an expired lock went well")
			}),
		entry("-rw", "ReadWriteLock, in Java", "ReadWriteLock",
			"multiple ReadLock owners and only one WriteLock owner are allowed", func(l *Lock) { l.Claims.Shared = true }),
		entry("-fenced", "FencedLock, in Java; only in 4.7.0", "Fenced Lock",
			"returns a monotonically increasing token on each acquisition", func(l *Lock) { l.Claims.Fenced = true }),
		entry("-spin", "SpinLock, in Java; not in 3.13.6", "Spin Lock",
			"RLock with exponential backoff in place of pub/sub, for thousands of locks in a short time", func(l *Lock) { l.Woken = false }),
		entry("-multi", "MultiLock, in Java: all of several names on all of several masters", "MultiLock",
			"groups locks, which may belong to different Redisson instances, and handles them as a single lock", func(l *Lock) {
				l.Claims.Several = true
				l.Topologies = append(independent, anyMaster...)
			}),
		entry("-red", "RedissonRedLock, in Java, which is deprecated", "RedLock",
			"deprecated, superseded by RLock with replica-synchronization checking and by RFencedLock", func(l *Lock) {
				l.Topologies, l.Like = independent, "redisson-redlock"
				l.Excused = map[string]string{"release-after-expiry": releaseIgnored, "stranger": releaseIgnored, "watchdog-ends": releaseIgnored}
			}),
	}
}

// checkRedissonJar refuses options that the version does not have, before a JVM starts.
func checkRedissonJar(lock string, o options) (err error) {
	version := o.Lookup("version").Value.String()
	newest := version == redissonVersions[0]
	switch {
	case lock == "redisson-jar-fenced" && !newest:
		return fmt.Errorf("%s: Redisson %s has no FencedLock; take version=%s", lock, version, redissonVersions[0])
	case lock == "redisson-jar-spin" && version == "3.13.6":
		return fmt.Errorf("%s: Redisson 3.13.6 has no SpinLock; take version=4.7.0 or 3.15.6", lock)
	}
	o.Visit(func(f *flag.Flag) {
		if (f.Name == "synced-slaves" || f.Name == "sync-timeout") && f.Value.String() != f.DefValue && !newest {
			err = fmt.Errorf("option %s of %s: Redisson %s does not have it; it is of version %s", f.Name, lock, version, redissonVersions[0])
		}
	})
	return err
}

// Options of the other libraries in Java.
var (
	session = simple("session", zkSession, "2s", 10*time.Millisecond)
	curator = served(
		session,
		onOff("listener", "on: holders count their locks as lost when the connection is SUSPENDED or LOST, as Curator advises; off: they hear of no loss", "on"),
		simple("connection-timeout", "how long Curator waits for a connection, at most", "15s", time.Millisecond),
		simple("retry", "Curator's pause before it tries again the first time, of three times", "1s", time.Millisecond),
	)
	answer  = conforming("3s", simple("timeout", "how long a request waits for its answer; 60s is what Lettuce has", "60s", time.Millisecond))
	socket  = conforming("3s", simple("timeout", "socketTimeout of the JDBC driver; 0s, as by default: without an end", "0s", 0))
	pool    = conforming("4", count("pool", "maximumPoolSize of HikariCP", "10", 1, 64))
	dbTime  = onOff("db-time", "on: usingDbTime, the server's clock decides; off: those of the clients", "on")
	ownName = onOff("own-name", "on: withLockedByValue, each client has a name of its own; off: all clients of a host have its name, as by default", "off")
)

// javaLibraries are the libraries of Maven Central next to Redisson. Each client is a process of its own.
func javaLibraries() []Lock {
	const releaseSilent = "unlock of ShedLock returns nothing, whether the lock was held or not"
	spring := func(name, about, like, page string, declare func(options) func() locks.Opener) Lock {
		return Lock{
			Card:  locks.Card{Name: name, Claims: locks.Claims{Bounded: true, Reentrant: true, Waits: true}},
			About: about, Like: like, declare: declare,
			Library: &Library{
				Version: "org.springframework.integration 7.1.2", Guests: []string{"java/spring"},
				Says:  "a LockRegistry: only one thread holds a lock at a time, across instances of the application",
				Where: "src/reference/antora/modules/ROOT/pages/" + page,
			},
		}
	}
	shed := func(name, about, like string, declare func(options) func() locks.Opener) Lock {
		return Lock{
			Card:  locks.Card{Name: name, Claims: locks.Claims{Bounded: true}},
			About: about, Like: like, declare: declare,
			Excused: map[string]string{"release-after-expiry": releaseSilent, "stranger": releaseSilent},
			Library: &Library{
				Version: "net.javacrumbs.shedlock 7.10.1", Guests: []string{"java/spring"},
				Says: "makes sure that a scheduled task is executed at most once at the same time", Where: "README.md, ShedLock",
			},
		}
	}
	on := func(service string, l Lock) Lock {
		l.Service = service
		return l
	}
	springRedis := spring("spring-redis", "RedisLockRegistry of Spring Integration on Lettuce", "set-nx", "redis.adoc, Redis Lock Registry", served(
		answer,
		conforming("3s", simple("lease", "expireAfter: the lease where the scenario asks for no ttl, renewed by a task each third of it", "60s", time.Millisecond)),
		word("type", "RedisLockType: spin: a waiter tries each 100 ms; pubsub: it is woken by a message", "spin", "pubsub"),
	))
	springRedis.Claims.Renewed = true
	springDB := spring("spring-jdbc", "JdbcLockRegistry of Spring Integration in PostgreSQL; the ends of leases are those of the clients' clocks",
		"pg-row", "jdbc/lock-registry.adoc", served(socket, pool))
	springDB.WritesTime = true
	springMariaDB := spring("spring-jdbc-mariadb", "JdbcLockRegistry of Spring Integration in MariaDB; the ends of leases are those of the clients' clocks",
		"mysql-row", "jdbc/lock-registry.adoc", served(socket, pool))
	springMariaDB.WritesTime = true
	return []Lock{
		springRedis,
		on(postgres.Name, springDB),
		on(mariadb.Name, springMariaDB),
		shed("shedlock-redis", "ShedLock's provider for Spring's Redis connection, on Lettuce", "set-nx", served(answer)),
		on(postgres.Name, shed("shedlock-jdbc", "ShedLock's JdbcTemplate provider in PostgreSQL", "pg-row", served(socket, pool, dbTime, ownName))),
		on(mariadb.Name, shed("shedlock-jdbc-mariadb", "ShedLock's JdbcTemplate provider in MariaDB", "mysql-row", served(socket, pool, dbTime, ownName))),
		{
			Card:    locks.Card{Name: "curator", Claims: locks.Claims{Renewed: true, Watched: true, Reentrant: true, Waits: true}},
			About:   "ZooKeeper: InterProcessMutex of Apache Curator, the newest of Maven Central",
			Service: zookeeper.Name, Woken: true, declare: curator, Like: "zk-curator",
			Library: &Library{
				Version: "org.apache.curator:curator-recipes 5.9.0", Guests: []string{"java/curator"},
				Says: "a re-entrant mutex that works across JVMs", Where: "InterProcessMutex, class comment",
			},
		},
	}
}

// The folders of build/guests with the programs that serve the libraries of npm and of PyPI.
var (
	npmGuest  = []string{"node/npm"}
	pypiGuest = []string{"python/pypi"}
)

// Options of the libraries of npm and of PyPI. A description begins with the library's own name for the option.
var (
	ioredisCareful = onOff("careful", "on: one second for each answer, nothing is sent twice; off: as ioredis is by default, which sends again after a reconnect", "off")
	redisPyCareful = onOff("careful", "on: one second for each answer, nothing is sent twice; off: as redis-py is by default, which tries eleven times", "off")
	redlockDrift   = share("drift-factor", "driftFactor: the share of the ttl that clocks may part by", "0.01")
	redlockDelay   = retryDelay("200ms")
	redlockJitter  = simple("retry-jitter", "retryJitter: what chance adds to that pause or takes from it", "100ms", 0)
	semaphore      = served(
		ioredisCareful, lease("lockTimeout", "10s"),
		simple("refresh", "refreshInterval: the pause between two renewals; 0s: four fifths of the lease", "0s", 0),
		simple("retry-interval", "retryInterval: the pause between two tries of a waiter", "10ms", 0),
	)
)

// lease is the option for the lease of a lock that its library renews.
func lease(name, standard string) library {
	return conforming("3s", simple("lease", name+": the lease where the scenario asks for no ttl", standard, time.Millisecond))
}

// retryDelay is the option for the pause of a library that waits by a number of tries.
func retryDelay(standard string) library {
	return simple("retry-delay", "retryDelay: the pause between two tries; a wait is as many tries as fit in it", standard, time.Millisecond)
}

// otherLibraries are the libraries in JavaScript, Python and Rust. Each client is a process of its own.
func otherLibraries() []Lock {
	const (
		waitsByRetries = "it waits by a number of retries, each after a delay with a random part, which can end before the time is over"
		earlyReturn    = "it returns with the third answer: the SET that a slow server has not answered can arrive after the release, and its key stays"
		releaseSilent  = "unlock of rslock returns nothing, whether the lock was held or not"
	)
	bounded := locks.Claims{Bounded: true, Waits: true}
	watched := locks.Claims{Bounded: true, Renewed: true, Watched: true, Waits: true}
	severally := func(c locks.Claims) locks.Claims { c.Several = true; return c }
	return []Lock{
		{
			Card: locks.Card{Name: "rslock", Claims: bounded}, About: "rslock of crates.io, in Rust", Topologies: independent, Like: "redlock",
			declare: served(simple("retry-delay", "the longest pause between two tries; a wait is as many tries as fit in it on average", "200ms", time.Millisecond)),
			Excused: map[string]string{"wait-kept": waitsByRetries, "release-after-expiry": releaseSilent, "stranger": releaseSilent},
			Library: &Library{
				Version: "rslock 0.10.0", Guests: []string{"rust/crates"},
				Says: "an implementation of Redlock, the distributed locking mechanism built on top of Redis", Where: "README.md, rslock",
			},
		},
		{
			Card: locks.Card{Name: "kazoo", Claims: locks.Claims{Renewed: true, Watched: true, Waits: true}}, About: "ZooKeeper: kazoo's Lock, the newest of PyPI",
			Service: zookeeper.Name, Woken: true, Like: "zk-kazoo",
			declare: served(session),
			Excused: map[string]string{"in-turn": triesQueue},
			Library: &Library{
				Version: "kazoo 2.11.0", Guests: pypiGuest,
				Says: "a mutex with at most one lock holder at any given time", Where: "kazoo/recipe/lock.py, class Lock",
			},
		},
		{
			Card: locks.Card{Name: "node-redlock-4", Claims: severally(bounded)}, About: "redlock 4 of npm on ioredis", Topologies: independent, Like: "redlock",
			declare: served(ioredisCareful, redlockDrift, redlockDelay, redlockJitter),
			Excused: map[string]string{"wait-kept": waitsByRetries},
			Library: &Library{
				Version: "redlock 4.2.0, ioredis 5.11.1", Guests: npmGuest,
				Says: "strong guarantees in both single-redis and multi-redis environments", Where: "README.md, Redlock",
			},
		},
		{
			Card: locks.Card{Name: "node-redlock-5", Claims: severally(watched)}, About: "redlock 5 (beta) of npm on ioredis; using() renews it", Topologies: independent, Like: "redlock",
			declare: served(
				ioredisCareful, redlockDrift, redlockDelay, redlockJitter,
				count("retry-count", "retryCount: how often an extension or a release is tried again", "10", 0, 1000),
				simple("extension-threshold", "automaticExtensionThreshold: how long before its end using() extends a lease", "500ms", 0),
				lease("duration of using()", "5s"),
			),
			Excused: map[string]string{"wait-kept": waitsByRetries},
			Library: &Library{
				Version: "redlock 5.0.0-beta.2, ioredis 5.11.1", Guests: npmGuest,
				Says: "strong guarantees in both single-redis and multi-redis environments", Where: "README.md, Redlock",
			},
		},
		{
			Card: locks.Card{Name: "redis-semaphore", Claims: watched}, About: "Mutex of redis-semaphore on ioredis", Like: "redisson", declare: semaphore,
			Library: &Library{
				Version: "redis-semaphore 5.8.0, ioredis 5.11.1", Guests: npmGuest,
				Says: "a mutex that is refreshed while it is held; onLockLost is called when a loss is detected", Where: "README.md, Mutex",
			},
		},
		{
			Card: locks.Card{Name: "redis-semaphore-redlock", Claims: watched}, About: "RedlockMutex of redis-semaphore on ioredis", Topologies: independent, Like: "redlock", declare: semaphore,
			Library: &Library{
				Version: "redis-semaphore 5.8.0, ioredis 5.11.1", Guests: npmGuest,
				Says: "a distributed mutex by the Redlock algorithm", Where: "README.md, RedlockMutex",
			},
		},
		{
			Card: locks.Card{Name: "redlock-universal", Claims: watched}, About: "createLock of redlock-universal on ioredis; using() renews it", Like: "redisson",
			declare: served(ioredisCareful, lease("ttl", "30s"), retryDelay("100ms")),
			Library: &Library{
				Version: "redlock-universal 0.8.5, ioredis 5.11.1", Guests: npmGuest,
				Says: "using() auto-extends the lock, and its signal is aborted when an extension fails", Where: "README.md, using()",
			},
		},
		{
			Card: locks.Card{Name: "redlock-universal-redlock", Claims: watched}, About: "createRedlock of redlock-universal on ioredis; using() renews it", Topologies: independent, Like: "redlock",
			declare: served(ioredisCareful, lease("ttl", "30s"), retryDelay("200ms")),
			Library: &Library{
				Version: "redlock-universal 0.8.5, ioredis 5.11.1", Guests: npmGuest,
				Says: "consensus: locks are safe even if nodes crash", Where: "README.md, Cluster vs Redlock",
			},
		},
		{
			Card: locks.Card{Name: "redis-py-pypi", Claims: bounded}, About: "redis-py's own Lock, the newest of PyPI", Topologies: oneMaster, Like: "set-nx",
			declare: served(redisPyCareful, simple("sleep", "sleep: the pause between two tries of a waiter", "100ms", 0)),
			Excused: map[string]string{"wait-kept": "it gives up when its next try would come after the end of the wait, up to one pause early"},
			Library: &Library{
				Version: "redis 8.1.0", Guests: pypiGuest,
				Says: "a shared, distributed lock", Where: "redis/lock.py, class Lock",
			},
		},
		{
			Card:  locks.Card{Name: "python-redis-lock", Claims: locks.Claims{Bounded: true, Renewed: true, Waits: true}},
			About: "python-redis-lock; leases and waits are whole seconds", Topologies: oneMaster, Like: "redisson",
			declare: served(redisPyCareful, lease("expire", "60s")),
			Excused: map[string]string{"wait-expired": "its waiters block in BLPOP, which only a release ends: an expired lease wakes none of them"},
			Library: &Library{
				Version: "python-redis-lock 4.0.1, redis 8.1.0", Guests: pypiGuest,
				Says: "auto_renewal renews the lock so that it does not expire for as long as it is held", Where: "redis_lock/__init__.py, class Lock",
			},
		},
		{
			Card: locks.Card{Name: "pottery", Claims: bounded}, About: "Redlock of pottery, in Python; extended three times at most", Topologies: independent, Like: "redlock",
			declare: served(redisPyCareful),
			Excused: map[string]string{"in-turn": earlyReturn, "no-residue": earlyReturn},
			Library: &Library{
				Version: "pottery 3.0.1, redis 8.1.0", Guests: pypiGuest,
				Says: "a mutually exclusive locking primitive without a single point of failure", Where: "pottery/redlock.py, class Redlock",
			},
		},
		{
			Card: locks.Card{Name: "sherlock", Claims: bounded}, About: "RedisLock of sherlock, in Python; leases are whole seconds", Topologies: oneMaster, Like: "set-nx",
			declare: served(
				redisPyCareful,
				word("expire", "ttl: what the scenario asks for; none: locks never expire, as expire=None is documented", "ttl", "none"),
				simple("retry-interval", "retry_interval: the pause between two tries of a waiter", "100ms", 0),
			),
			Excused: map[string]string{"wait-kept": "it waits by a number of pauses, of which the last is left out"},
			Library: &Library{
				Version: "sherlock 0.4.1, redis 8.1.0", Guests: pypiGuest,
				Says: "distributed inter-process locks with a choice of backend", Where: "README, Sherlock",
			},
		},
	}
}
