package catalog

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/service/kubernetes"
	"lockbench/internal/service/mariadb"
	"lockbench/internal/service/postgres"
	"lockbench/internal/service/redis"
	"lockbench/internal/service/zookeeper"
	"lockbench/locks"
)

// redissonVersions are the builds of Redisson that scripts/guests makes. The first one is the default.
var redissonVersions = []string{"4.7.0", "3.15.6", "3.13.6"}

// redissonLibraryOptions are settings of Redisson's Config. Each description begins with the setting's name.
// The value default leaves a setting to Redisson.
var redissonLibraryOptions = []Option{
	word("version", "of org.redisson:redisson: 4.7.0, 3.15.6 or 3.13.6", redissonVersions...),
	ownLease(conforming("3s", simple("watchdog", "lockWatchdogTimeout: the lease where the scenario asks for no ttl, renewed each third of it", "30s", 3*time.Millisecond))),
	simple("timeout", "timeout: how long a command waits for its answer", "3s", 3*time.Millisecond),
	count("retries", "retryAttempts: how often a command is sent again; default: 3, in 4.7.0 4", "default", 0, 64),
	simple("retry-interval", "retryInterval: the pause before that; default: 1.5s, in 4.7.0 between 1s and 2s", "default", 3*time.Millisecond),
	word("synced-slaves", "checkLockSyncedSlaves: on: a grant that no replica confirmed is refused; off; 4.7.0 only", "default", "on", "off"),
	simple("sync-timeout", "slavesSyncTimeout: how long replicas may take to confirm, 1s by default; 4.7.0 only", "default", 3*time.Millisecond),
	conforming("60m", simple("scan-interval", "scanInterval of Sentinel and of a cluster: how often clients ask for the topology; default: 5s, Sentinel 1s", "default", 3*time.Millisecond)),
	conforming("0s", simple("ping-interval", "pingConnectionInterval: how often each idle connection is tried by a PING; 0s: never", "30s", 0)),
	count("pool", "connectionMinimumIdleSize: idle connections to each server; Redisson itself keeps 24", "4", 0, 64),
}

// redissonDoor and fencedDoor are the options for the method that acquires a lock of Redisson, with the lease of the request or without.
var (
	redissonDoor = door("the method that acquires, in the form for the lease and the wait of the request; lock and lockAsync wait until it is granted; releases by unlockAsync after an Async form",
		[]string{"lock", "lockAsync"}, "tryLock", "lock", "tryLockAsync", "lockAsync")
	fencedDoor = door("as of redisson, for the forms that return the token",
		[]string{"lockAndGetToken", "lockAndGetTokenAsync"},
		"tryLockAndGetToken", "lockAndGetToken", "tryLockAndGetTokenAsync", "lockAndGetTokenAsync")
)

// redissonLibraryLocks are the locks of Redisson itself, each client in a JVM of its own.
func redissonLibraryLocks() []Lock {
	const releaseIgnored = "the unlock of RedissonRedLock ignores what the masters answer, so it always succeeds"
	var guests []string
	for _, v := range redissonVersions {
		guests = append(guests, "java/redisson-"+v)
	}
	entry := func(name, about, page, says string) Lock {
		door := redissonDoor
		if name == "-fenced" {
			door = fencedDoor
		}
		l := library("redisson"+name, "Redisson's "+about, "redisson-port"+name,
			locks.Claims{Bounded: true, Renewed: true, Reentrant: true, Waits: true},
			Library{
				Version: "org.redisson:redisson " + redissonVersions[0] + ", 3.15.6 and 3.13.6", Guests: guests,
				Says: says, Where: "docs/data-and-services/locks-and-synchronizers.md, " + page,
			},
			append(slices.Clone(redissonLibraryOptions), door)...)
		l.Port = l.Like
		l.Woken, l.Confirms, l.check = true, true, checkRedissonLibrary
		return l
	}
	fair := entry("-fair", "FairLock, in Java", "Fair Lock",
		"threads acquire it in the order in which they requested it; a thread that died delays the others by 5 s")
	fair.Claims.Fair, fair.WritesTime, fair.Queues = true, true, true
	rw := entry("-rw", "ReadWriteLock, in Java", "ReadWriteLock", "multiple ReadLock owners and only one WriteLock owner are allowed")
	rw.Claims.Shared = true
	fenced := entry("-fenced", "FencedLock, in Java; only in 4.7.0", "Fenced Lock",
		"returns a monotonically increasing token on each acquisition")
	fenced.Claims.Fenced = true
	spin := entry("-spin", "SpinLock, in Java; not in 3.13.6", "Spin Lock",
		"RLock with exponential backoff in place of pub/sub, for thousands of locks in a short time")
	spin.Woken = false
	multi := entry("-multi", "MultiLock, in Java: all of several names on all of several masters", "MultiLock",
		"groups locks, which may belong to different Redisson instances, and handles them as a single lock")
	multi.Claims.Several = true
	red := entry("-redlock", "RedissonRedLock, in Java, which is deprecated", "RedLock",
		"deprecated, superseded by RLock with replica-synchronization checking and by RFencedLock")
	return []Lock{
		entry("", "RLock, in Java", "Checking replica synchronization",
			"a client never keeps a lock that was not safely replicated and could later be lost to a failover"),
		fair.excused("R-37: the fair lock answers that a release of an expired lock went well", "release-after-expiry"),
		rw, fenced, spin, multi,
		red.excused(releaseIgnored, "release-after-expiry", "stranger", "watchdog-ends"),
	}
}

// checkRedissonLibrary refuses options that the version does not have, before a JVM starts.
func checkRedissonLibrary(lock string, v values) error {
	version := v["version"]
	newest := version == redissonVersions[0]
	switch {
	case lock == "redisson-fenced" && !newest:
		return fmt.Errorf("%s: Redisson %s has no FencedLock; take version=%s", lock, version, redissonVersions[0])
	case lock == "redisson-spin" && version == "3.13.6":
		return fmt.Errorf("%s: Redisson 3.13.6 has no SpinLock; take version=4.7.0 or 3.15.6", lock)
	}
	for _, name := range []string{"synced-slaves", "sync-timeout"} {
		if v[name] != "default" && !newest {
			return fmt.Errorf("option %s of %s: Redisson %s does not have it; it is of version %s", name, lock, version, redissonVersions[0])
		}
	}
	return nil
}

// Options that several libraries have. A description begins with the library's own name for the option.
var (
	zkGuestSession = ownLease(simple("session", zkSession, "2s", 10*time.Millisecond))
	curatorOptions = []Option{
		zkGuestSession,
		onOff("listener", "on: holders count their locks as lost when the connection is SUSPENDED or LOST, as Curator advises; off: they hear of no loss", "on"),
		simple("connection-timeout", "how long Curator waits for a connection, at most", "15s", time.Millisecond),
		simple("retry", "Curator's pause before it tries again the first time, of three times", "1s", time.Millisecond),
	}
	lettuceTimeout = conforming("3s", simple("timeout", "how long a request waits for its answer; 60s is what Lettuce has", "60s", time.Millisecond))
	jdbcOptions    = []Option{
		conforming("3s", simple("timeout", "socketTimeout of the JDBC driver; 0s, as by default: without an end", "0s", 0)),
		conforming("4", count("pool", "maximumPoolSize of HikariCP", "10", 1, 64)),
	}
)

// lease is the option for the lease of a lock that its library renews.
func lease(name, standard string) Option {
	return ownLease(conforming("3s", simple("lease", name+": the lease where the scenario asks for no ttl", standard, time.Millisecond)))
}

// retryDelay is the option for the pause of a library that waits by a number of tries.
func retryDelay(standard string) Option {
	return simple("retry-delay", "retryDelay: the pause between two tries; a wait is as many tries as fit in it", standard, time.Millisecond)
}

// javaLibraries are the libraries of Maven Central next to Redisson. Each client is a process of its own.
func javaLibraries() []Lock {
	spring := func(name, about, like, page string, options ...Option) Lock {
		return library(name, about, like, locks.Claims{Bounded: true, Reentrant: true, Waits: true},
			Library{
				Version: "org.springframework.integration 7.1.2", Guests: []string{"java/spring"},
				Says:  "a LockRegistry: only one thread holds a lock at a time, across instances of the application",
				Where: "src/reference/antora/modules/ROOT/pages/" + page,
			},
			append(options, door("the method that acquires; lock waits until it is granted", []string{"lock"}, "tryLock", "lock"))...)
	}
	springJDBC := func(name, database, like string) Lock {
		l := spring(name, "JdbcLockRegistry of Spring Integration in "+database+"; the ends of leases are those of the clients' clocks",
			like, "jdbc/lock-registry.adoc", jdbcOptions...)
		l.WritesTime = true
		return l
	}
	shed := func(name, about, like string, options ...Option) Lock {
		return library(name, about, like, locks.Claims{Bounded: true},
			Library{
				Version: "net.javacrumbs.shedlock 7.10.1", Guests: []string{"java/spring"},
				Says: "makes sure that a scheduled task is executed at most once at the same time", Where: "README.md, ShedLock",
			},
			options...)
	}
	shedJDBC := append(slices.Clone(jdbcOptions),
		onOff("db-time", "on: usingDbTime, the server's clock decides; off: those of the clients", "on"),
		onOff("own-name", "on: withLockedByValue, each client has a name of its own; off: all clients of a host have its name, as by default", "off"))
	springRedis := spring("spring-redis", "RedisLockRegistry of Spring Integration on Lettuce", "set-nx", "redis.adoc, Redis Lock Registry",
		lettuceTimeout,
		ownLease(conforming("3s", simple("lease", "expireAfter: the lease where the scenario asks for no ttl, renewed by a task each third of it", "60s", time.Millisecond))),
		word("type", "RedisLockType: spin: a waiter tries each 100 ms; pubsub: it is woken by a message", "spin", "pubsub"))
	springRedis.Claims.Renewed = true
	curator := library("curator", "ZooKeeper: InterProcessMutex of Apache Curator, the newest of Maven Central", "zk-curator",
		locks.Claims{Renewed: true, Watched: true, Reentrant: true, Waits: true},
		Library{
			Version: "org.apache.curator:curator-recipes 5.9.0", Guests: []string{"java/curator"},
			Says: "a re-entrant mutex that works across JVMs", Where: "InterProcessMutex, class comment",
		},
		append(slices.Clone(curatorOptions), door("the method that acquires: acquire(time, unit), or acquire(), which waits until it is granted",
			[]string{"acquire"}, "acquire-time", "acquire"))...).on(zookeeper.Name)
	curator.Woken, curator.Queues = true, true
	kubeLease := library("kube-lease-java", "Kubernetes: LeaderElector of the Java client on a Lease, which can only wait", "kube-lease",
		locks.Claims{Renewed: true, Watched: true, Waits: true},
		Library{
			Version: "io.kubernetes:client-java-extended 25.0.0", Guests: []string{"java/kubernetes"},
			Says: "the hooks are called when a client starts leading and when it stops leading; it promises no more", Where: "LeaderElector.run, method comment",
		},
		ownLease(conforming("3s", simple("lease", "leaseDuration, where the scenario asks for no ttl; written in whole seconds", "15s", time.Millisecond))),
		simple("renew", "renewDeadline; default: two thirds of the lease", "default", time.Millisecond),
		conforming("1s", simple("retry", "retryPeriod, which is also how long one try may take; default: two fifteenths of the lease", "default", time.Millisecond)),
	).on(kubernetes.Name, locks.Single, kubernetes.Quorum)
	kubeLease.OnlyWaits, kubeLease.Wait = true, kubeLeaseWait
	return []Lock{
		kubeLease,
		springRedis,
		springJDBC("spring-jdbc", "PostgreSQL", "pg-row").on(postgres.Name),
		springJDBC("spring-jdbc-mariadb", "MariaDB", "mysql-row").on(mariadb.Name),
		shed("shedlock-redis", "ShedLock's provider for Spring's Redis connection, on Lettuce", "set-nx", lettuceTimeout,
			onOff("safe-update", "on: safeUpdate, unlock and extend compare the owner; off: they do not, as by default", "off")),
		shed("shedlock-jdbc", "ShedLock's JdbcTemplate provider in PostgreSQL", "pg-row", shedJDBC...).on(postgres.Name),
		shed("shedlock-jdbc-mariadb", "ShedLock's JdbcTemplate provider in MariaDB", "mysql-row", shedJDBC...).on(mariadb.Name),
		curator,
	}
}

// usingDoor is the option for the method that acquires, of libraries that renew a lease in their method using only.
var usingDoor = door("acquire: acquire() where the scenario asks for a ttl, and using() where it asks for none; using: always using(), which renews a lease of the ttl",
	nil, "acquire", "using")

// npmLibraries are the libraries of npm on ioredis. Each client is a process of its own.
func npmLibraries() []Lock {
	npm := func(name, about, like string, claims locks.Claims, l Library, options ...Option) Lock {
		l.Version, l.Guests = l.Version+", ioredis 5.11.1", []string{"node/npm"}
		careful := onOff("careful", "on: one second for each answer, nothing is sent twice; off: as ioredis is by default, which sends again after a reconnect", "off")
		return library(name, about, like, claims, l, append(options, careful)...)
	}
	redlock := func(name, about string, claims locks.Claims, version string, options ...Option) Lock {
		claims.Several = true
		options = append(options, retryDelay("200ms"),
			share("drift-factor", "driftFactor: the share of the ttl that clocks may part by", "0.01"),
			simple("retry-jitter", "retryJitter: what chance adds to that pause or takes from it", "100ms", 0))
		l := Library{Version: version, Says: "strong guarantees in both single-redis and multi-redis environments",
			Where: "README.md, Redlock"}
		return npm(name, about, "redlock", claims, l, options...).excused(waitsByRetries, "wait-kept")
	}
	semaphore := func(name, class, like, says string) Lock {
		l := Library{Version: "redis-semaphore 5.8.0", Says: says, Where: "README.md, " + class}
		return npm(name, class+" of redis-semaphore on ioredis", like, renewed, l,
			door("the method that acquires", nil, "tryAcquire", "acquire"), lease("lockTimeout", "10s"),
			simple("refresh", "refreshInterval: the pause between two renewals; 0s: four fifths of the lease", "0s", 0),
			simple("retry-interval", "retryInterval: the pause between two tries of a waiter", "10ms", 0))
	}
	universal := func(name, function, like, delay, says, where string) Lock {
		l := Library{Version: "redlock-universal 0.8.5", Says: says, Where: "README.md, " + where}
		return npm(name, function+" of redlock-universal on ioredis; using() renews it", like, renewed, l,
			usingDoor, lease("ttl", "30s"), retryDelay(delay))
	}
	return []Lock{
		redlock("node-redlock-4", "redlock 4 of npm on ioredis", waiting, "redlock 4.2.0"),
		redlock("node-redlock-5", "redlock 5 (beta) of npm on ioredis; using() renews it", renewed, "redlock 5.0.0-beta.2",
			count("retry-count", "retryCount: how often an extension or a release is tried again", "10", 0, 1000),
			usingDoor, simple("extension-threshold", "automaticExtensionThreshold: how long before its end using() extends a lease", "500ms", 0),
			lease("duration of using()", "5s")),
		semaphore("redis-semaphore", "Mutex", "redisson-port",
			"a mutex that is refreshed while it is held; onLockLost is called when a loss is detected"),
		semaphore("redis-semaphore-redlock", "RedlockMutex", "redlock", "a distributed mutex by the Redlock algorithm"),
		universal("redlock-universal", "createLock", "redisson-port", "100ms",
			"using() auto-extends the lock, and its signal is aborted when an extension fails", "using()"),
		universal("redlock-universal-redlock", "createRedlock", "redlock", "200ms",
			"consensus: locks are safe even if nodes crash", "Cluster vs Redlock"),
	}
}

// pypiLibraries are the libraries of PyPI. Each client is a process of its own.
func pypiLibraries() []Lock {
	pypi := func(name, about, like string, claims locks.Claims, l Library, options ...Option) Lock {
		l.Guests = []string{"python/pypi"}
		return library(name, about, like, claims, l, options...)
	}
	careful := onOff("careful", "on: one second for each answer, nothing is sent twice; off: as redis-py is by default, which tries eleven times", "off")
	kazoo := pypi("kazoo", "ZooKeeper: kazoo's Lock, the newest of PyPI", "zk-kazoo",
		locks.Claims{Renewed: true, Watched: true, Waits: true},
		Library{Version: "kazoo 2.11.0", Says: "a mutex with at most one lock holder at any given time",
			Where: "kazoo/recipe/lock.py, class Lock"},
		zkGuestSession).on(zookeeper.Name).excused(triesQueue, "in-turn")
	kazoo.Woken, kazoo.Queues = true, true
	return []Lock{
		kazoo,
		pypi("redis-py-pypi", "redis-py's own Lock, the newest of PyPI", "set-nx", waiting,
			Library{Version: "redis 8.1.0", Says: "a shared, distributed lock", Where: "redis/lock.py, class Lock"},
			careful, simple("sleep", "sleep: the pause between two tries of a waiter", "100ms", 0),
		).on(redis.Name, oneMaster...).excused("it gives up when its next try would come after the end of the wait, up to one pause early",
			"wait-kept"),
		pypi("python-redis-lock", "python-redis-lock; leases and waits are whole seconds", "redisson-port",
			locks.Claims{Bounded: true, Renewed: true, Waits: true},
			Library{
				Version: "python-redis-lock 4.0.1, redis 8.1.0",
				Says:    "auto_renewal renews the lock so that it does not expire for as long as it is held", Where: "redis_lock/__init__.py, class Lock",
			},
			careful, lease("expire", "60s"),
		).on(redis.Name, oneMaster...).messaged().excused("its waiters block in BLPOP, which only a release ends: an expired lease wakes none of them",
			"wait-expired"),
		pypi("pottery", "Redlock of pottery, in Python; extended three times at most", "redlock", waiting,
			Library{
				Version: "pottery 3.0.1, redis 8.1.0",
				Says:    "a mutually exclusive locking primitive without a single point of failure", Where: "pottery/redlock.py, class Redlock",
			},
			careful,
		),
		pypi("sherlock", "RedisLock of sherlock, in Python; leases are whole seconds", "set-nx", waiting,
			Library{
				Version: "sherlock 0.4.1, redis 8.1.0",
				Says:    "distributed inter-process locks with a choice of backend", Where: "README, Sherlock",
			},
			careful,
			word("expire", "ttl: what the scenario asks for; none: locks never expire, as expire=None is documented", "ttl", "none"),
			simple("retry-interval", "retry_interval: the pause between two tries of a waiter", "100ms", 0),
		).on(redis.Name, oneMaster...).excused("it waits by a number of pauses, of which the last is left out", "wait-kept"),
	}
}

// rustLibraries are the libraries of crates.io. Each client is a process of its own.
func rustLibraries() []Lock {
	rslock := library("rslock", "rslock of crates.io, in Rust", "redlock", waiting,
		Library{
			Version: "rslock 0.10.0", Guests: []string{"rust/crates"},
			Says: "an implementation of Redlock, the distributed locking mechanism built on top of Redis", Where: "README.md, rslock",
		},
		simple("retry-delay", "the longest pause between two tries; a wait is as many tries as fit in it on average", "200ms", time.Millisecond))
	return []Lock{
		rslock.excused(waitsByRetries, "wait-kept"),
	}
}
