package catalog

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/locks"
	"lockbench/service/etcd"
	"lockbench/service/redis"
)

// Library is a stock lock library, used unchanged. What serves it is a program of its own,
// so that lockbench depends on none of them.
type Library struct {
	Version string // the module or package, and its version
	Says    string // what it promises
	Where   string // the line of its documentation that does
	// Real says that it runs in the real worlds alone: it is no module.
	Real bool
	// Guests are the folders of build/guests in which scripts/guests builds the program that serves the
	// library: one for each value of the option version, whose name they end with. The first one is the
	// default. Empty: LibraryProgram serves it.
	Guests []string
}

// Guest is the folder of build/guests with the program that serves the library with some options. It is
// empty if LibraryProgram does.
func (l *Library) Guest(options map[string]string) string {
	if version, ok := options["version"]; ok {
		for _, g := range l.Guests {
			if strings.HasSuffix(g, "-"+version) {
				return g
			}
		}
	}
	if len(l.Guests) == 0 {
		return ""
	}
	return l.Guests[0]
}

// Guests are the folders of all guests that scripts/guests builds.
func Guests() []string {
	var all []string
	for _, l := range All() {
		if l.Library == nil {
			continue
		}
		for _, g := range l.Library.Guests {
			if !slices.Contains(all, g) {
				all = append(all, g)
			}
		}
	}
	return all
}

// LibraryProgram is what serves the libraries, and LibraryModule the same as a module.
const (
	LibraryProgram = "lockbench-more"
	LibraryModule  = "lockbench-more.wasm"
)

// triesQueue is why a hundred who try again and again may not all be served.
const triesQueue = "a try joins the queue before it looks, and those who leave it again keep others from being first"

// libraryLocks are the stock libraries.
func libraryLocks() []Lock {
	bounded := locks.Claims{Bounded: true, Waits: true}
	watched := locks.Claims{Renewed: true, Watched: true, Waits: true}
	independent := []locks.Topology{locks.Independent}
	client := []locks.Topology{locks.Single, locks.Replicated, redis.Sentinel, redis.Cluster}
	all := []Lock{
		{
			Card:       locks.Card{Name: "redsync", Family: locks.Majority, Claims: bounded},
			About:      "redsync on go-redis, a pool for each master",
			Topologies: independent, Options: redsyncOptions,
			Like: "redlock",
			Library: &Library{
				Version: "github.com/go-redsync/redsync/v4 v4.17.0",
				Says:    "after Lock is successful, no one else can obtain the same lock until it is unlocked", Where: "README.md:55",
			},
		},
		{
			Card:       locks.Card{Name: "redsync-redigo", Family: locks.Majority, Claims: bounded},
			About:      "redsync on redigo, a pool for each master",
			Topologies: independent, Options: redsyncOptions,
			Like: "redlock",
			Library: &Library{
				Version: "github.com/go-redsync/redsync/v4 v4.17.0, github.com/gomodule/redigo",
				Says:    "after Lock is successful, no one else can obtain the same lock until it is unlocked", Where: "README.md:55",
			},
		},
		{
			Card:       locks.Card{Name: "redsync-rueidis", Family: locks.Majority, Claims: bounded},
			About:      "redsync on rueidis, a client for each master",
			Topologies: independent, Options: redsyncOptions,
			Like: "redlock",
			Library: &Library{
				Version: "github.com/go-redsync/redsync/v4 v4.17.0, github.com/redis/rueidis v1.0.79",
				Says:    "after Lock is successful, no one else can obtain the same lock until it is unlocked", Where: "README.md:55",
			},
		},
		{
			Card:       locks.Card{Name: "redislock", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Waits: true, Several: true}},
			About:      "bsm/redislock on go-redis",
			Topologies: client,
			Options: []Option{
				carefulOption, {Name: "backoff", About: "how long a waiter sleeps between two tries", Default: "100ms"},
				{Name: "reload", About: "how old the client's map of a cluster may be; a master that is dead tells nobody of a new one", Default: "1m"},
			},
			Like: "set-nx",
			Library: &Library{
				Version: "github.com/bsm/redislock v0.10.0",
				Says:    "a simplified distributed locking implementation; it promises no more", Where: "README.md:7",
			},
		},
		{
			Card:       locks.Card{Name: "rueidislock", Family: locks.SingleStore, Claims: watched},
			About:      "rueidislock, woken and told of losses by client-side caching",
			Topologies: client, Options: watchedOptions,
			Like: "redisson",
			Library: &Library{
				Version: "github.com/redis/rueidis/rueidislock v1.0.79",
				Says:    "the holder's context is cancelled immediately once the majority of keys is not held any more", Where: "rueidislock/README.md:54",
			},
		},
		{
			Card:       locks.Card{Name: "valkeylock", Family: locks.SingleStore, Claims: watched},
			About:      "valkeylock, woken and told of losses by client-side caching",
			Topologies: client, Options: watchedOptions,
			Like: "rueidislock",
			Library: &Library{
				Version: "github.com/valkey-io/valkey-go/valkeylock v1.0.79",
				Says:    "the holder's context is cancelled immediately once the majority of keys is not held any more", Where: "valkeylock/README.md:54",
			},
		},
		{
			Card:       locks.Card{Name: "redis-py", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			About:      "redis-py's own Lock, in python3",
			Topologies: []locks.Topology{locks.Single, locks.Replicated},
			Like:       "set-nx",
			Library: &Library{
				Version: "redis-py, of this machine (on Debian or Ubuntu: apt-get install python3-redis)",
				Says:    "a shared, distributed lock across processes and machines", Where: "redis/lock.py, class Lock", Real: true,
			},
		},
	}
	all = append(all, Lock{
		Card: locks.Card{
			Name: "etcd-mutex", Family: locks.SingleStore,
			Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
		},
		About:   "the Mutex of etcd's client, on a session of its own; the token is the store's revision",
		Service: etcd.Name, Topologies: []locks.Topology{locks.Single, etcd.Quorum}, Plain: true,
		Excused: map[string]string{"in-turn": triesQueue},
		Options: []Option{
			{Name: "session-ttl", About: "how long a session outlives its client, where the scenario asks for no ttl; whole seconds", Default: "1m0s"},
			{Name: "orphan", About: "on: the session of a lock that could not be released is kept alive no longer", Default: "off"},
			{Name: "limit", About: "how long one request may take", Default: "3s"},
			{Name: "dial-timeout", About: "etcd's DialTimeout, which also is how long a session believes in itself at first", Default: "5s"},
			{Name: "keepalive", About: "how often an idle connection is asked whether it works; 0s: never, as by default", Default: "0s"},
		},
		Library: &Library{
			Version: "go.etcd.io/etcd/client/v3/concurrency v3.6.16",
			Says:    "concurrency operations on top of etcd such as distributed locks; it promises no more", Where: "client/v3/concurrency/doc.go:15", Real: true,
		},
	})
	all = append(all, zookeeperLibraries()...)
	all = append(all, natsKV(), mongoFindAndModify(), consulLock())
	for i := range all {
		l := &all[i]
		l.New = func(options map[string]string) (locks.Opener, error) {
			if err := checkNames(l.Name, l.Options, options); err != nil {
				return nil, err
			}
			return nil, servedElsewhere{l.Name, l.Library.Real}
		}
	}
	return all
}

var (
	carefulOption  = Option{Name: "careful", About: "on: one second for each answer, nothing is sent twice; off: as the client library is by default", Default: "off"}
	redsyncOptions = []Option{
		{Name: "tries", About: "how often a waiter tries", Default: "32"},
		{Name: "drift", About: "the share of the ttl that clocks may part by", Default: "0.01"},
		{Name: "node-timeout", About: "the share of the ttl that one master may take to answer", Default: "0.05"},
		{Name: "fail-fast", About: "on: stop listening once a majority has answered", Default: "off"},
		carefulOption,
	}
	watchedOptions = []Option{
		{Name: "validity", About: "how long a key lives, where the scenario asks for no ttl", Default: "5s"},
		{Name: "extend", About: "how often keys are extended; 0s: half of the validity", Default: "0s"},
		{Name: "try-next", About: "how long one key may take to answer", Default: "20ms"},
		{Name: "majority", About: "keys that are a majority", Default: "2"},
		{Name: "no-loop", About: "on: track keys without loops", Default: "off"},
		{Name: "setpx", About: "on: set ends by PX and not by PXAT", Default: "off"},
	}
)

// servedElsewhere is why a stock library cannot be opened by this program.
type servedElsewhere struct {
	lock string
	real bool
}

func (e servedElsewhere) Error() string {
	if e.real {
		return e.lock + " is a program, whose time cannot be simulated; use --world local or docker"
	}
	return fmt.Sprintf("%s is a stock library, which %s serves and not this process", e.lock, LibraryProgram)
}

func (servedElsewhere) Is(target error) bool { return target == locks.ErrUnsupported }
