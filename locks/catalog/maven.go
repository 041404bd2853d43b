package catalog

import (
	"lockbench/locks"
	"lockbench/service/mariadb"
	"lockbench/service/operator"
	"lockbench/service/postgres"
	"lockbench/service/redis"
	"lockbench/service/zookeeper"
)

const (
	// voidUnlock is why a release of ShedLock cannot be asked whether the lock was held.
	voidUnlock = "unlock of ShedLock returns nothing, whether the lock was held or not"
	rslockVoid = "unlock of rslock returns nothing, whether the lock was held or not"
	springSays = "a LockRegistry: only one thread holds a lock at a time, across instances of the application"
	shedSays   = "makes sure that a scheduled task is executed at most once at the same time"
)

// newLibraries are the libraries of Maven Central next to Redisson, of PyPI that are not on Redis, and of crates.io. Each client is a
// process of its own.
func newLibraries() []Lock {
	var (
		registry = locks.Claims{Bounded: true, Reentrant: true, Waits: true}
		shed     = locks.Claims{Bounded: true}
		timeout  = Option{Name: "timeout", About: "how long a request waits for its answer; 60s is what Lettuce has", Default: "60s", Conform: "3s"}
		socket   = Option{Name: "timeout", About: "socketTimeout of the JDBC driver; 0s, as by default: without an end", Default: "0s", Conform: "3s"}
		pool     = Option{Name: "pool", About: "maximumPoolSize of HikariCP", Default: "10", Conform: "4"}
		dbTime   = Option{Name: "db-time", About: "on: usingDbTime, the server's clock decides; off: those of the clients", Default: "on"}
		renewed  = registry
	)
	renewed.Renewed = true
	spring := func(where string) *Library {
		return &Library{Version: "org.springframework.integration 7.1.2", Guests: []string{"java/spring"}, Says: springSays, Where: where}
	}
	shedLock := func() *Library {
		return &Library{Version: "net.javacrumbs.shedlock 7.10.1", Guests: []string{"java/spring"}, Says: shedSays, Where: "README.md, ShedLock"}
	}
	all := []Lock{
		{
			Card:    locks.Card{Name: "spring-redis", Claims: renewed},
			About:   "RedisLockRegistry of Spring Integration on Lettuce",
			Service: redis.Name,
			Options: []Option{
				timeout,
				{Name: "lease", About: "expireAfter: the lease where the scenario asks for no ttl, renewed by a task each third of it", Default: "60s", Conform: "3s"},
				{Name: "type", About: "RedisLockType: spin: a waiter tries each 100 ms; pubsub: it is woken by a message", Default: "spin"},
			},
			Like: "set-nx", Library: spring("src/reference/antora/modules/ROOT/pages/redis.adoc, Redis Lock Registry"),
		},
		{
			Card:    locks.Card{Name: "spring-jdbc", Claims: registry},
			About:   "JdbcLockRegistry of Spring Integration in PostgreSQL; the ends of leases are those of the clients' clocks",
			Service: postgres.Name, Options: []Option{socket, pool}, WritesTime: true,
			Like: "pg-row", Library: spring("src/reference/antora/modules/ROOT/pages/jdbc/lock-registry.adoc"),
		},
		{
			Card:    locks.Card{Name: "spring-jdbc-mariadb", Claims: registry},
			About:   "JdbcLockRegistry of Spring Integration in MariaDB; the ends of leases are those of the clients' clocks",
			Service: mariadb.Name, Options: []Option{socket, pool}, WritesTime: true,
			Like: "mysql-row", Library: spring("src/reference/antora/modules/ROOT/pages/jdbc/lock-registry.adoc"),
		},
		{
			Card:    locks.Card{Name: "shedlock-redis", Claims: shed},
			About:   "ShedLock's provider for Spring's Redis connection, on Lettuce",
			Service: redis.Name, Options: []Option{timeout},
			Like: "set-nx", Library: shedLock(),
		},
		{
			Card:    locks.Card{Name: "shedlock-jdbc", Claims: shed},
			About:   "ShedLock's JdbcTemplate provider in PostgreSQL",
			Service: postgres.Name, Options: []Option{socket, pool, dbTime},
			Like: "pg-row", Library: shedLock(),
		},
		{
			Card:    locks.Card{Name: "shedlock-jdbc-mariadb", Claims: shed},
			About:   "ShedLock's JdbcTemplate provider in MariaDB",
			Service: mariadb.Name, Options: []Option{socket, pool, dbTime},
			Like: "mysql-row", Library: shedLock(),
		},
		{
			Card:    locks.Card{Name: "curator", Claims: locks.Claims{Renewed: true, Watched: true, Reentrant: true, Waits: true}},
			About:   "ZooKeeper: InterProcessMutex of Apache Curator, the newest of Maven Central",
			Service: zookeeper.Name, Woken: true,
			Options: []Option{
				zkSession,
				{Name: "listener", About: "on: holders count their locks as lost when the connection is SUSPENDED or LOST, as Curator advises; off: they hear of no loss", Default: "on"},
				{Name: "connection-timeout", About: "how long Curator waits for a connection, at most", Default: "15s"},
				{Name: "retry", About: "Curator's pause before it tries again the first time, of three times", Default: "1s"},
			},
			Like: "zk-curator",
			Library: &Library{
				Version: "org.apache.curator:curator-recipes 5.9.0", Guests: []string{"java/curator"},
				Says: "a re-entrant mutex that works across JVMs", Where: "InterProcessMutex, class comment",
			},
		},
	}
	all = append(all, Lock{
		Card:    locks.Card{Name: "rslock", Claims: locks.Claims{Bounded: true, Waits: true}},
		About:   "rslock of crates.io, in Rust",
		Service: redis.Name, Topologies: []locks.Topology{locks.Independent},
		Options: []Option{{Name: "retry-delay", About: "the longest pause between two tries; a wait is as many tries as fit in it on average", Default: "200ms"}},
		Like:    "redlock",
		Library: &Library{
			Version: "rslock 0.10.0", Guests: []string{"rust/crates"},
			Says: "an implementation of Redlock, the distributed locking mechanism built on top of Redis", Where: "README.md, rslock",
		},
	}, Lock{
		Card:    locks.Card{Name: "kazoo", Claims: locks.Claims{Renewed: true, Watched: true, Waits: true}},
		About:   "ZooKeeper: kazoo's Lock, the newest of PyPI",
		Service: zookeeper.Name, Woken: true,
		Options: []Option{zkSession},
		Like:    "zk-kazoo",
		Library: &Library{
			Version: "kazoo 2.11.0", Guests: pypiGuest,
			Says: "a mutex with at most one lock holder at any given time", Where: "kazoo/recipe/lock.py, class Lock",
		},
	})
	for i := range all {
		l := &all[i]
		l.Family, l.Library.Real, l.Excused = locks.SingleStore, true, map[string]string{}
		if l.Library.Says == shedSays {
			l.Excused["release-after-expiry"], l.Excused["stranger"] = voidUnlock, voidUnlock
		}
		switch l.Name {
		case "kazoo":
			l.Excused["in-turn"] = triesQueue
		case "rslock":
			l.Family = locks.Majority
			l.Excused["wait-kept"] = waitsByRetries
			l.Excused["release-after-expiry"], l.Excused["stranger"] = rslockVoid, rslockVoid
		}
		switch {
		case l.Topologies != nil:
		case l.Service == redis.Name:
			l.Topologies = anyMaster
		case l.Service == zookeeper.Name:
			l.Topologies = onZooKeeper
		default:
			l.Topologies, l.Group = []locks.Topology{locks.Single, locks.Replicated, operator.Managed}, databaseGroup
			l.Excused["one-of-1000"] = fewConnections
		}
		l.New = func(options map[string]string) (locks.Opener, error) {
			if err := checkGuestOptions(l, options); err != nil {
				return nil, err
			}
			return nil, servedElsewhere{l.Name, true}
		}
	}
	return all
}
