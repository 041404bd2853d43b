package catalog

import (
	"time"

	"lockbench/internal/service/mariadb"
	"lockbench/internal/service/postgres"
	"lockbench/internal/service/redis"
	"lockbench/internal/service/zookeeper"
	"lockbench/locks"
	"lockbench/locks/control"
	mariadblocks "lockbench/locks/mariadb"
	"lockbench/locks/mutants"
	postgreslocks "lockbench/locks/postgres"
	"lockbench/locks/redlock"
	"lockbench/locks/setnx"
	zookeeperlocks "lockbench/locks/zookeeper"
)

var (
	serverless  = []locks.Topology{locks.None}
	oneMaster   = []locks.Topology{locks.Single, locks.Replicated, locks.Sentinel}
	anyMaster   = []locks.Topology{locks.Single, locks.Replicated, locks.Sentinel, locks.Cluster}
	independent = []locks.Topology{locks.Independent}
)

// own returns the entry of a lock that this program contains.
func own(name, about string, claims locks.Claims, open func(values) locks.Opener, options ...Option) Lock {
	return Lock{Card: locks.Card{Name: name, Claims: claims}, About: about, open: open, options: options}
}

// on returns the lock for a service, by default with the topologies that locks on the service have.
func (l Lock) on(service string, topologies ...locks.Topology) Lock {
	l.Service, l.Topologies = service, topologies
	return l
}

// like returns the lock with the expectations of another one.
func (l Lock) like(other string) Lock {
	l.Like = other
	return l
}

// plain marks the plain lock of a service.
func (l Lock) plain() Lock {
	l.Plain = true
	return l
}

// controlLocks are locks with a known verdict. They test the harness.
func controlLocks() []Lock {
	return []Lock{
		{
			Card: locks.Card{
				Name: "no-lock", Family: locks.Control,
				Claims: locks.Claims{Reentrant: true, Shared: true, Several: true, Waits: true}, Model: []string{"mutex"},
			},
			About:      "grants every request; a run that does not find it violated shows nothing",
			Broken:     true,
			Topologies: serverless,
			open:       without(func() locks.Opener { return control.OpenNoLock }),
		},
		{
			Card:       locks.Card{Name: "in-process", Family: locks.Control, Claims: locks.Claims{Strict: true}},
			About:      "a mutex in the memory of the harness; must always pass",
			Topologies: serverless,
			InHarness:  true,
			open:       without(func() locks.Opener { return control.NewTable().Open }),
		},
		{
			Card:       locks.Card{Name: "flock", Family: locks.Control, Claims: locks.Claims{Strict: true}},
			About:      "flock(2) on a file, held by the client's process; must always pass",
			Topologies: serverless,
			StandIn:    "in-process",
			open:       without(func() locks.Opener { return control.OpenFlock }),
		},
	}
}

// redisLocks are the locks with an owner's token, and four common mistakes.
func redisLocks() []Lock {
	bounded := locks.Claims{Bounded: true}
	getsetTime := own("getset-time", "SETNX and GETSET of the lease's end by the clients' clocks; breaks when they differ", bounded,
		without(mutants.GetsetTime))
	getsetTime.WritesTime = true
	return []Lock{
		own("setnx-expire", "SETNX, then EXPIRE; a client that dies in between leaves the lock held for ever", bounded,
			without(mutants.SetnxExpire)).on(redis.Name, oneMaster...),
		own("set-del", "SET NX EX, released by DEL without a check of the owner; a late holder deletes another's lock", bounded,
			without(mutants.SetDel)).on(redis.Name, oneMaster...),
		own("get-del", "SET NX PX with a token, released by GET and then DEL; a late DEL deletes another's lock", bounded,
			func(v values) locks.Opener { return mutants.GetDel(v.duration("answer-timeout") - time.Second) },
			lasting("answer-timeout", "how long its client waits for an answer", "1s", time.Millisecond)).on(redis.Name, oneMaster...),
		getsetTime.on(redis.Name, oneMaster...),
		own("set-nx", "SET NX PX with an owner's token, renewed and released by script; the base line", bounded, without(setnx.New)).plain(),
		own("set-nx-fenced", "set-nx whose grants are counted in the same script, so that stale writes can be refused",
			locks.Claims{Bounded: true, Fenced: true}, without(setnx.NewFenced)),
		own("redlock", "SET NX PX on a majority of independent masters, valid for what is left of the ttl", bounded,
			func(v values) locks.Opener {
				return redlock.New(redlock.Options{Drift: v.share("drift"), NodeTimeout: v.duration("node-timeout")})
			},
			share("drift", "share of the ttl allowed for clocks that part, 2ms on top", "0.01"),
			conforming("2s", lasting("node-timeout", "limit for one node's answer; auto: a twentieth of the ttl, 5ms to 100ms", "auto", time.Microsecond)),
		).on(redis.Name, independent...).plain(),
	}
}

// databaseLocks are locks in PostgreSQL and MariaDB.
func databaseLocks() []Lock {
	session := locks.Claims{Session: true}
	pool := onOff("pool", "on: no connection of its own, each statement goes to any connection of a pool", "off")
	return []Lock{
		own("pg-advisory", "pg_try_advisory_lock on its own connection; the lock ends with the connection", session,
			func(v values) locks.Opener { return postgreslocks.NewAdvisory(v["pool"] == "on") }, pool).on(postgres.Name),
		own("pg-advisory-xact", "pg_try_advisory_xact_lock, held until its transaction ends", session,
			without(postgreslocks.NewAdvisoryXact)).on(postgres.Name).like("pg-advisory"),
		own("pg-row", "a row of PostgreSQL with an end by the server's clock and a number of grants",
			locks.Claims{Bounded: true, Fenced: true},
			without(postgreslocks.NewRow)).on(postgres.Name).plain(),
		own("mysql-row", "a row of MariaDB under a unique index, with an end by the server's clock", locks.Claims{Bounded: true},
			without(mariadblocks.NewRow)).on(mariadb.Name).like("pg-row").plain(),
		own("mysql-get-lock", "GET_LOCK of MariaDB on its own connection; the lock ends with the connection", session,
			func(v values) locks.Opener { return mariadblocks.NewGetLock(v["pool"] == "on") }, pool).on(mariadb.Name).like("pg-advisory"),
		own("mysql-for-update", "SELECT FOR UPDATE on a row of MariaDB, held until its transaction ends", session,
			without(mariadblocks.NewForUpdate)).on(mariadb.Name).like("pg-advisory"),
	}
}

// zkSession describes the option session, which all locks on ZooKeeper have.
const zkSession = "how long a session outlives its client, where the scenario asks for no ttl"

// zookeeperLocks are the locks on ZooKeeper that this program contains.
func zookeeperLocks() []Lock {
	options := []Option{
		ownLease(lasting("session", zkSession, "2s", 10*time.Millisecond)),
		lasting("limit", "how long an acquire or a release may take in addition to its wait", "3s", 10*time.Millisecond),
		word("suspend", "lost: a holder learns of a loss when the connection is lost; on: when a server reports that the session has expired", "lost", "on"),
	}
	settings := func(v values) zookeeperlocks.Options {
		return zookeeperlocks.Options{Session: v.duration("session"), Limit: v.duration("limit"), Suspended: v["suspend"] == "on"}
	}
	recipe := own("zk-recipe",
		"ZooKeeper: ephemeral sequential nodes, with all precautions of Curator; the token is the node's transaction",
		locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
		func(v values) locks.Opener { return zookeeperlocks.NewRecipe(settings(v)) }, options...).on(zookeeper.Name).plain()
	lock := own("zk-lock", "ZooKeeper: the Lock of the client library go-zookeeper, which cannot try without waiting",
		locks.Claims{Renewed: true, Watched: true, Waits: true},
		func(v values) locks.Opener { return zookeeperlocks.NewLibrary(settings(v)) }, options...).on(zookeeper.Name)
	recipe.Woken, lock.Woken, lock.OnlyWaits = true, true, true
	recipe.Queues, lock.Queues = true, true
	return []Lock{
		recipe,
		lock.excused("its Lock takes no context, and waits until it is served", "wait-cancelled", "cancelled-waiting").
			excused("its Lock forgets the node whose answer was lost, and only the end of its session frees the lock", "cancelled-asking"),
	}
}
