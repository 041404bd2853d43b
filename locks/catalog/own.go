package catalog

import (
	"time"

	"lockbench/locks"
	"lockbench/locks/control"
	mariadblocks "lockbench/locks/mariadb"
	"lockbench/locks/mutants"
	postgreslocks "lockbench/locks/postgres"
	"lockbench/locks/redlock"
	"lockbench/locks/setnx"
	zookeeperlocks "lockbench/locks/zookeeper"
	"lockbench/service/mariadb"
	"lockbench/service/postgres"
	"lockbench/service/redis"
	"lockbench/service/zookeeper"
)

var (
	serverless  = []locks.Topology{locks.None}
	oneMaster   = []locks.Topology{locks.Single, locks.Replicated, redis.Sentinel}
	anyMaster   = []locks.Topology{locks.Single, locks.Replicated, redis.Sentinel, redis.Cluster}
	independent = []locks.Topology{locks.Independent}
)

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
	return []Lock{
		{
			Card:       locks.Card{Name: "setnx-expire", Claims: bounded},
			About:      "SETNX, then EXPIRE; a client that dies in between leaves the lock held for ever",
			Topologies: oneMaster,
			open:       without(mutants.SetnxExpire),
		},
		{
			Card:       locks.Card{Name: "set-del", Claims: bounded},
			About:      "SET NX EX, released by DEL without a check of the owner; a late holder deletes another's lock",
			Topologies: oneMaster,
			open:       without(mutants.SetDel),
		},
		{
			Card:       locks.Card{Name: "get-del", Claims: bounded},
			About:      "SET NX PX with a token, released by GET and then DEL; a late DEL deletes another's lock",
			Topologies: oneMaster,
			options:    []Option{lasting("answer-timeout", "how long its client waits for an answer", "1s", time.Millisecond)},
			open:       func(v values) locks.Opener { return mutants.GetDel(v.duration("answer-timeout") - time.Second) },
		},
		{
			Card:       locks.Card{Name: "getset-time", Claims: bounded},
			About:      "SETNX and GETSET of the lease's end by the clients' clocks; breaks when they differ",
			Topologies: oneMaster,
			WritesTime: true,
			open:       without(mutants.GetsetTime),
		},
		{
			Card:  locks.Card{Name: "set-nx", Claims: bounded},
			About: "SET NX PX with an owner's token, renewed and released by script; the base line",
			Plain: true,
			open:  without(setnx.New),
		},
		{
			Card:  locks.Card{Name: "set-nx-fenced", Claims: locks.Claims{Bounded: true, Fenced: true}},
			About: "set-nx whose grants are counted in the same script, so that stale writes can be refused",
			open:  without(setnx.NewFenced),
		},
		{
			Card:       locks.Card{Name: "redlock", Claims: bounded},
			About:      "SET NX PX on a majority of independent masters, valid for what is left of the ttl",
			Topologies: independent,
			Plain:      true,
			options: []Option{
				share("drift", "share of the ttl allowed for clocks that part, 2ms on top", "0.01"),
				conforming("2s", lasting("node-timeout", "limit for one node's answer; auto: a twentieth of the ttl, 5ms to 100ms", "auto", time.Microsecond)),
			},
			open: func(v values) locks.Opener {
				return redlock.New(redlock.Options{Drift: v.share("drift"), NodeTimeout: v.duration("node-timeout")})
			},
		},
	}
}

// databaseLocks are locks in PostgreSQL and MariaDB.
func databaseLocks() []Lock {
	session := locks.Claims{Session: true}
	pool := []Option{onOff("pool", "on: no connection of its own, each statement goes to any connection of a pool", "off")}
	return []Lock{
		{
			Card:    locks.Card{Name: "pg-advisory", Claims: session},
			About:   "pg_try_advisory_lock on its own connection; the lock ends with the connection",
			Service: postgres.Name,
			options: pool,
			open:    func(v values) locks.Opener { return postgreslocks.NewAdvisory(v["pool"] == "on") },
		},
		{
			Card:    locks.Card{Name: "pg-advisory-xact", Claims: session},
			Like:    "pg-advisory",
			About:   "pg_try_advisory_xact_lock, held until its transaction ends",
			Service: postgres.Name,
			open:    without(postgreslocks.NewAdvisoryXact),
		},
		{
			Card:    locks.Card{Name: "pg-row", Claims: locks.Claims{Bounded: true, Fenced: true}},
			About:   "a row of PostgreSQL with an end by the server's clock and a number of grants",
			Service: postgres.Name,
			Plain:   true,
			open:    without(postgreslocks.NewRow),
		},
		{
			Card:    locks.Card{Name: "mysql-row", Claims: locks.Claims{Bounded: true}},
			Like:    "pg-row",
			About:   "a row of MariaDB under a unique index, with an end by the server's clock",
			Service: mariadb.Name,
			Plain:   true,
			open:    without(mariadblocks.NewRow),
		},
		{
			Card:    locks.Card{Name: "mysql-get-lock", Claims: session},
			Like:    "pg-advisory",
			About:   "GET_LOCK of MariaDB on its own connection; the lock ends with the connection",
			Service: mariadb.Name,
			options: pool,
			open:    func(v values) locks.Opener { return mariadblocks.NewGetLock(v["pool"] == "on") },
		},
		{
			Card:    locks.Card{Name: "mysql-for-update", Claims: session},
			Like:    "pg-advisory",
			About:   "SELECT FOR UPDATE on a row of MariaDB, held until its transaction ends",
			Service: mariadb.Name,
			open:    without(mariadblocks.NewForUpdate),
		},
	}
}

const (
	// zkSession describes the option session, which all locks on ZooKeeper have.
	zkSession = "how long a session outlives its client, where the scenario asks for no ttl"
	// noContext is the reason why a wait of go-zookeeper's Lock cannot be cancelled.
	noContext = "its Lock takes no context, and waits until it is served"
)

// zookeeperLocks are the locks on ZooKeeper that this program contains.
func zookeeperLocks() []Lock {
	options := []Option{
		lasting("session", zkSession, "2s", 10*time.Millisecond),
		lasting("limit", "how long an acquire or a release may take in addition to its wait", "3s", 10*time.Millisecond),
		word("suspend", "lost: a holder hears of a loss when the connection is lost; on: when a server says that the session has expired", "lost", "on"),
	}
	settings := func(v values) zookeeperlocks.Options {
		return zookeeperlocks.Options{Session: v.duration("session"), Limit: v.duration("limit"), Suspended: v["suspend"] == "on"}
	}
	return []Lock{
		{
			Card:    locks.Card{Name: "zk-recipe", Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true}},
			About:   "ZooKeeper: ephemeral sequential nodes, with all precautions of Curator; the token is the node's transaction",
			Service: zookeeper.Name, Woken: true, Plain: true,
			options: options,
			open:    func(v values) locks.Opener { return zookeeperlocks.NewRecipe(settings(v)) },
		},
		{
			Card:    locks.Card{Name: "zk-lock", Claims: locks.Claims{Renewed: true, Watched: true, Waits: true}},
			About:   "ZooKeeper: the Lock of the client library go-zookeeper, which cannot try without waiting",
			Service: zookeeper.Name, Woken: true, OnlyWaits: true,
			Excused: map[string]string{
				"wait-cancelled":    noContext,
				"cancelled-waiting": noContext,
				"cancelled-asking":  "its Lock forgets the node whose answer was lost, and only the end of its session frees the lock",
			},
			options: options,
			open:    func(v values) locks.Opener { return zookeeperlocks.NewLibrary(settings(v)) },
		},
	}
}
