package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockbench/internal/service/etcd"
	"lockbench/internal/service/kubernetes"
	"lockbench/internal/service/mongo"
	"lockbench/internal/service/nats"
	"lockbench/internal/service/redis"
	"lockbench/internal/service/zookeeper"
	"lockbench/locks"
)

// Library is a stock lock library, used unchanged. Another program serves it, so that lockbench
// depends on none of them.
type Library struct {
	Version string // the module or package, and its version
	Says    string // what it promises
	Where   string // the line of its documentation that does
	// Real means that it runs in the real worlds alone, because there is no WASM module of it.
	Real bool
	// Guests are the folders of build/guests in which scripts/guests builds the program that serves the
	// library: one for each value of the option version, whose name they end with. The first one is the
	// default. Empty: Program serves it.
	Guests []string
	// Program is the program next to lockbench that serves the library, and Target the target of make
	// that builds it. Empty: LibraryProgram, by `make more`.
	Program, Target string
}

// Served returns the program next to lockbench that serves the library, and the target of make that builds it.
func (l *Library) Served() (program, target string) {
	return cmp.Or(l.Program, LibraryProgram), cmp.Or(l.Target, "more")
}

// Guest returns the folder of build/guests with the program that serves the library with some options. It is
// empty if the program of Served does.
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

// Guests returns the folders of all guests that scripts/guests builds.
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

// LibraryProgram serves the Go libraries, and LibraryModule is the same program as a WASM module.
const (
	LibraryProgram = "lockbench-more"
	LibraryModule  = "lockbench-more.wasm"
)

// kubeLeaseWait is longer than two usual leases of Kubernetes.
const kubeLeaseWait = 40 * time.Second

// The claims of several libraries.
var (
	waiting = locks.Claims{Bounded: true, Waits: true}
	renewed = locks.Claims{Bounded: true, Renewed: true, Watched: true, Waits: true}
)

// Why several libraries break rules of the conformance suite.
const (
	triesQueue     = "a try joins the queue before it checks, and clients that leave the queue again keep others from being first"
	waitsByRetries = "it waits by a number of retries, each after a delay with a random part, which can end before the time is over"
)

// library returns the entry of a stock library. Its topologies are those of the lock that it is like.
func library(name, about, like string, claims locks.Claims, l Library, options ...Option) Lock {
	return Lock{Card: locks.Card{Name: name, Claims: claims}, About: about, Like: like, Library: &l, options: options}
}

// goLibraries are the stock libraries in Go, and those that are programs of this machine.
func goLibraries() []Lock {
	var (
		several = locks.Claims{Bounded: true, Waits: true, Several: true}
		watched = locks.Claims{Renewed: true, Watched: true, Waits: true}
		fenced  = locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true}
		counted = locks.Claims{Bounded: true, Fenced: true}
		careful = onOff("careful", "on: one second for each answer, nothing is sent twice; off: as the client library is by default", "off")
	)
	redsync := func(name, about, modules string) Lock {
		return library(name, about, "redlock", waiting,
			Library{
				Version: "github.com/go-redsync/redsync/v4 v4.17.0" + modules,
				Says:    "after Lock is successful, no one else can obtain the same lock until it is unlocked", Where: "README.md:55",
			},
			careful,
			count("tries", "how often a waiter tries", "32", 1, 1000),
			share("drift", "the share of the ttl that clocks may part by", "0.01"),
			share("node-timeout", "the share of the ttl that one master may take to answer", "0.05"),
			onOff("fail-fast", "on: stop listening once a majority has answered", "off"))
	}
	watching := func(name, like, module string) Lock {
		return library(name, name+", woken and told of losses by client-side caching", like, watched,
			Library{
				Version: module + "/" + name + " v1.0.79",
				Says:    "the holder's context is cancelled immediately once the majority of keys is not held any more", Where: name + "/README.md:54",
			},
			ownLease(lasting("validity", "how long a key lives, where the scenario asks for no ttl", "5s", 0)),
			lasting("extend", "how often keys are extended; 0s: half of the validity", "0s", 0),
			lasting("try-next", "how long one key may take to answer", "20ms", 0),
			count("majority", "keys that are a majority", "2", 1, 1000),
			onOff("no-loop", "on: track keys without loops", "off"),
			onOff("setpx", "on: set ends by PX and not by PXAT", "off")).messaged()
	}
	redislock := library("redislock", "bsm/redislock on go-redis", "set-nx", several,
		Library{
			Version: "github.com/bsm/redislock v0.10.0",
			Says:    "a simplified distributed locking implementation; it promises no more", Where: "README.md:7",
		},
		careful,
		lasting("backoff", "how long a waiter sleeps between two tries", "100ms", 0),
		lasting("reload", "how old the client's map of a cluster may be; a dead master does not announce a new one", "1m", 0))
	redisPy := library("redis-py", "redis-py's own Lock, in python3", "set-nx", locks.Claims{Bounded: true},
		Library{
			Version: "redis-py, of this machine (on Debian or Ubuntu: apt-get install python3-redis)",
			Says:    "a shared, distributed lock across processes and machines", Where: "redis/lock.py, class Lock", Real: true,
		}).on(redis.Name, locks.Single, locks.Replicated)
	etcdMutex := library("etcd-mutex",
		"the Mutex of etcd's client, on a session of its own; the token is the store's revision", "", fenced,
		Library{
			Version: "go.etcd.io/etcd/client/v3/concurrency v3.6.16",
			Says:    "concurrency operations on top of etcd such as distributed locks; it promises no more", Where: "client/v3/concurrency/doc.go:15", Real: true,
		},
		ownLease(lasting("session-ttl", "how long a session outlives its client, where the scenario asks for no ttl; whole seconds", "1m0s", 0)),
		onOff("orphan", "on: the session of a lock that could not be released is kept alive no longer", "off"),
		lasting("limit", "how long one request may take", "3s", 0),
		lasting("dial-timeout", "etcd's DialTimeout, which also is how long a session believes in itself at first", "5s", 0),
		lasting("keepalive", "how often an idle connection is tried; 0s: never, as by default", "0s", 0),
	).on(etcd.Name, locks.Single, etcd.Quorum).excused(triesQueue, "in-turn").plain()
	zkCurator := library("zk-curator", "ZooKeeper: Apache Curator's InterProcessMutex, in java", "", watched,
		Library{
			Version: "Apache Curator, of this machine (on Debian or Ubuntu: apt-get install libcurator-recipes-java default-jdk-headless)",
			Says:    "a re-entrant mutex that works across JVMs", Where: "InterProcessMutex, class comment", Real: true,
		},
		curatorOptions...).on(zookeeper.Name)
	zkKazoo := library("zk-kazoo", "ZooKeeper: kazoo's Lock, in python3", "etcd-mutex", watched,
		Library{
			Version: "kazoo, of this machine (on Debian or Ubuntu: apt-get install python3-kazoo)",
			Says:    "a mutex with at most one lock holder at any given time", Where: "kazoo/recipe/lock.py, class Lock", Real: true,
		},
		zkGuestSession).on(zookeeper.Name).excused(triesQueue, "in-turn")
	zkCurator.Woken, zkKazoo.Woken = true, true
	zkCurator.Queues, zkKazoo.Queues, etcdMutex.Queues = true, true, true
	natsKV := library("nats-kv",
		"a key of a JetStream bucket by Create, and Delete at its revision; the token is that revision", "", counted,
		Library{
			Version: "github.com/nats-io/nats.go/jetstream v1.55.0",
			Says:    "Create will create the key/value pair if it does not exist; it speaks of no lock", Where: "jetstream/kv.go, KeyValue.Create", Real: true,
		},
		count("replicas", "on how many servers the bucket is kept; 0: on all, three at most", "0", 0, 5),
		conforming("key", word("expiry", "bucket: its ttl is that of all its keys; key: each has its own, in whole seconds", "bucket", "key")),
		lasting("limit", "how long one request may take", "5s", 0),
		lasting("ping", "how often an idle connection is tried", "2m0s", 0),
		lasting("reconnect-wait", "how long a lost connection waits until it tries a server again", "2s", 0),
	).on(nats.Name, locks.Single, nats.Quorum).plain()
	mongoDocument := library("mongo-find-and-modify",
		"a document by findAndModify with upsert, with an end by the client's clock and a number of grants", "", counted,
		Library{
			Version: "go.mongodb.org/mongo-driver/v2 v2.10.0",
			Says:    "FindOneAndUpdate executes a findAndModify command to update at most one document in the collection; it speaks of no lock",
			Where:   "mongo/collection.go, Collection.FindOneAndUpdate", Real: true,
		},
		onOff("expiry", "off: the naive form, whose documents have no end", "on"),
		lasting("limit", "how long one request may take", "5s", 0),
	).on(mongo.Name, locks.Single).plain()
	mongoDocument.WritesTime = true
	kubeLease := library("kube-lease", "Kubernetes: client-go's leader election on a Lease, which can only wait", "", watched,
		Library{
			Version: "k8s.io/client-go v0.37.2",
			Says:    "leader election of a set of endpoints; it does not guarantee that only one client is acting as a leader",
			Where:   "tools/leaderelection/leaderelection.go, package comment", Real: true,
			Program: "lockbench-kube-lease", Target: "kubernetes",
		},
		ownLease(conforming("3s", lasting("lease", "LeaseDuration, where the scenario asks for no ttl; written in whole seconds", "15s", time.Millisecond))),
		lasting("renew", "RenewDeadline; default: two thirds of the lease", "default", time.Millisecond),
		conforming("200ms", lasting("retry", "RetryPeriod; default: two fifteenths of the lease", "default", time.Millisecond)),
		lasting("timeout", "Timeout of each request; default: half of renew, and a second at least, as NewFromKubeconfig sets it; 0s: none", "default", 0),
		onOff("release-on-cancel", "ReleaseOnCancel: on: an elector that ends frees the lease; off: the lease runs out, as by default of client-go", "on"),
	).on(kubernetes.Name, locks.Single, kubernetes.Quorum, kubernetes.Redundant).plain()
	kubeLease.OnlyWaits, kubeLease.Wait = true, kubeLeaseWait
	return []Lock{
		redsync("redsync", "redsync on go-redis, a pool for each master", ""),
		redsync("redsync-redigo", "redsync on redigo, a pool for each master", ", github.com/gomodule/redigo"),
		redsync("redsync-rueidis", "redsync on rueidis, a client for each master", ", github.com/redis/rueidis v1.0.79"),
		redislock,
		watching("rueidislock", "redisson-port", "github.com/redis/rueidis"),
		watching("valkeylock", "rueidislock", "github.com/valkey-io/valkey-go"),
		redisPy, etcdMutex, zkCurator, zkKazoo, natsKV, mongoDocument, kubeLease,
	}
}
