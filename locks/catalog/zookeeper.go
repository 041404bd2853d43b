package catalog

import (
	"time"

	"lockbench/locks"
	zklocks "lockbench/locks/zookeeper"
	"lockbench/service/zookeeper"
)

var onZooKeeper = []locks.Topology{locks.Single, zookeeper.Quorum}

var (
	zkSession    = Option{Name: "session", About: "how long a session outlives its client, where the scenario asks for no ttl", Default: "2s"}
	zkSuspend    = Option{Name: "suspend", About: "lost: who holds is told when the connection is lost; on: when a server says that the session has expired", Default: "lost"}
	zkLimit      = Option{Name: "limit", About: "how long an acquire or a release may take beside its wait", Default: "3s"}
	zkOwnOptions = []Option{
		zkSession, zkSuspend, zkLimit,
		{Name: "protected", About: "off: a node's name does not say who made it, so one whose answer was lost is nobody's", Default: "on"},
		{Name: "guaranteed", About: "off: a delete that got no answer is not done again", Default: "on"},
		{Name: "watch", About: "before: who waits watches the node before its own; all: all of them", Default: "before"},
		{Name: "token", About: "czxid: the transaction that made the node; sequence: the number in its name", Default: "czxid"},
	}
	zkLibraryOptions = []Option{zkSession, zkSuspend, zkLimit}
)

// noContext is why nobody who waits with go-zookeeper's Lock can be called back.
const noContext = "its Lock takes no context, and waits until it is served"

// zookeeperLocks are those on ZooKeeper that this program serves.
func zookeeperLocks() []Lock {
	return []Lock{
		{
			Card: locks.Card{
				Name: "zk-recipe", Family: locks.SingleStore,
				Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
			},
			About:   "ZooKeeper: ephemeral sequential nodes, with all precautions of Curator; the token is the node's transaction",
			Service: zookeeper.Name, Topologies: onZooKeeper, Options: zkOwnOptions, Woken: true, Plain: true,
			New: newZooKeeper("zk-recipe", zkOwnOptions, zklocks.NewRecipe),
		},
		{
			Card: locks.Card{
				Name: "zk-lock", Family: locks.SingleStore,
				Claims: locks.Claims{Renewed: true, Watched: true, Waits: true},
			},
			About:   "ZooKeeper: the Lock of the client library go-zookeeper, which can only wait",
			Service: zookeeper.Name, Topologies: onZooKeeper, Options: zkLibraryOptions, Woken: true, OnlyWaits: true,
			Excused: map[string]string{
				"wait-cancelled":    noContext,
				"cancelled-waiting": noContext,
				"cancelled-asking":  "its Lock forgets the node whose answer was lost, and only the end of its session frees the lock",
			},
			New: newZooKeeper("zk-lock", zkLibraryOptions, zklocks.NewLibrary),
		},
	}
}

// newZooKeeper makes the New of a lock on ZooKeeper.
func newZooKeeper(lock string, has []Option, open func(zklocks.Options) locks.Opener) func(map[string]string) (locks.Opener, error) {
	return func(given map[string]string) (locks.Opener, error) {
		if err := checkNames(lock, has, given); err != nil {
			return nil, err
		}
		o := zklocks.Options{Session: 2 * time.Second, Limit: 3 * time.Second}
		for name, d := range map[string]*time.Duration{"session": &o.Session, "limit": &o.Limit} {
			v, ok := given[name]
			if !ok {
				continue
			}
			parsed, err := time.ParseDuration(v)
			if err != nil || parsed < 10*time.Millisecond {
				return nil, badValue(lock, name, v, "a duration such as 2s, of at least 10ms")
			}
			if parsed > durationMax {
				return nil, tooLong(lock, name, v)
			}
			*d = parsed
		}
		for name, b := range map[string]struct {
			set     *bool
			no, yes string // the words for false and true
		}{
			"protected":  {&o.Unprotected, "on", "off"},
			"guaranteed": {&o.Unguaranteed, "on", "off"},
			"watch":      {&o.WatchAll, "before", "all"},
			"suspend":    {&o.Suspended, "lost", "on"},
			"token":      {&o.BySequence, "czxid", "sequence"},
		} {
			switch v, ok := given[name]; {
			case ok && v != b.no && v != b.yes:
				return nil, badValue(lock, name, v, b.no+" or "+b.yes)
			case ok:
				*b.set = v == b.yes
			}
		}
		return open(o), nil
	}
}

// zookeeperLibraries are stock libraries that are programs of this machine.
func zookeeperLibraries() []Lock {
	return []Lock{
		{
			Card:    locks.Card{Name: "zk-curator", Family: locks.SingleStore, Claims: locks.Claims{Renewed: true, Watched: true, Waits: true}},
			About:   "ZooKeeper: Apache Curator's InterProcessMutex, in java",
			Service: zookeeper.Name, Topologies: onZooKeeper, Woken: true,
			Options: []Option{
				zkSession,
				{Name: "listener", About: "on: who holds is told when the connection is SUSPENDED or LOST, as Curator advises; off: nobody is told", Default: "on"},
				{Name: "connection-timeout", About: "how long Curator waits for a connection, at most", Default: "15s"},
				{Name: "retry", About: "Curator's pause before it tries again the first time, of three times", Default: "1s"},
			},
			Library: &Library{
				Version: "Apache Curator, of this machine (on Debian or Ubuntu: apt-get install libcurator-recipes-java default-jdk-headless)",
				Says:    "a re-entrant mutex that works across JVMs", Where: "InterProcessMutex, class comment", Real: true,
			},
		},
		{
			Card:    locks.Card{Name: "zk-kazoo", Family: locks.SingleStore, Claims: locks.Claims{Renewed: true, Watched: true, Waits: true}},
			Like:    "etcd-mutex",
			About:   "ZooKeeper: kazoo's Lock, in python3",
			Service: zookeeper.Name, Topologies: onZooKeeper, Woken: true,
			Options: []Option{zkSession}, Excused: map[string]string{"in-turn": triesQueue},
			Library: &Library{
				Version: "kazoo, of this machine (on Debian or Ubuntu: apt-get install python3-kazoo)",
				Says:    "a mutex with at most one lock holder at any given time", Where: "kazoo/recipe/lock.py, class Lock", Real: true,
			},
		},
	}
}
