// Package goredis connects this project's locks to Redis through go-redis, configured so that it never sends a command twice.
//
// A client library that resends commands makes a lock give wrong answers. If the reply to SET NX is lost and the library sends
// the command again, the second reply is "taken" although the caller holds the lock. So [Connect] turns off all
// retries, and every failure between a request and its reply becomes an error with unknown outcome.
// TestResendingTurnsAGrantIntoTaken shows the wrong answer with go-redis's default settings.
//
// [Do] sends a command that the cluster client does not resend either, and [Script] runs Lua. [Claim], [Disown] and [Extend]
// are the three steps of locks with an owner's token.
package goredis

import (
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"lockbench/locks"
)

// ioTimeout limits each dial, read and write. The library's default would hide most faults until they are over.
const ioTimeout = time.Second

// poolSize is the number of connections of one client to one server. The library's default depends on the number of
// processors. The behaviour of the client while a server is down depends on it too, because the client stops dialling
// after as many failures. A lock must behave the same on every machine.
const poolSize = 10

// bufferSize is the size of the two buffers of a connection. Commands of locks are small, and a test opens many connections.
const bufferSize = 4 << 10

// Connect returns a client of a store that has one master at a time for each key: a single server, the service address of
// replicated servers, the master that sentinels name, or the nodes of a cluster. It connects when first used.
func Connect(store locks.Store) (redis.UniversalClient, error) {
	return ConnectPatient(store, 0)
}

// ConnectPatient is Connect for clients whose commands wait in the server, such as WAIT. Answers may take longer by the given
// time.
func ConnectPatient(store locks.Store, more time.Duration) (redis.UniversalClient, error) {
	nodes := store.Nodes()
	if store.Topology == locks.Sentinel {
		nodes = store.Endpoints[locks.Sentinels]
	}
	o := options(store, nodes, ioTimeout+more)
	switch store.Topology {
	case locks.Single, locks.Replicated:
		if len(nodes) == 0 {
			return nil, fmt.Errorf("connect to redis: the %s store names no server", store.Topology)
		}
		return redis.NewClient(o.Simple()), nil
	case locks.Sentinel:
		// The client queries the sentinels for the master at every dial, and dials all of them through Store.Dial.
		if o.MasterName = store.Params[locks.MasterName]; len(nodes) == 0 || o.MasterName == "" {
			return nil, fmt.Errorf("connect to redis: the sentinel store names %d sentinels and the master %q; both are needed", len(nodes), o.MasterName)
		}
		return redis.NewFailoverClient(o.Failover()), nil
	case locks.Cluster:
		if len(nodes) == 0 {
			return nil, fmt.Errorf("connect to redis: the cluster store names no node to ask")
		}
		return connectCluster(o.Cluster()), nil
	}
	return nil, fmt.Errorf("connect to redis: %w: topology %q; this client speaks single, replicated, sentinel and cluster",
		locks.ErrUnsupported, store.Topology)
}

// ConnectNode returns a client of one server of a store, whatever the topology.
func ConnectNode(store locks.Store, node locks.Node) *redis.Client {
	return redis.NewClient(options(store, []locks.Node{node}, ioTimeout).Simple())
}

// options returns the options of every client.
func options(store locks.Store, nodes []locks.Node, read time.Duration) *redis.UniversalOptions {
	Silence()
	o := &redis.UniversalOptions{
		Dialer:                store.Dial,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // never resend: see the package comment
		DialerRetries:         1,
		PoolSize:              poolSize,
		DialTimeout:           ioTimeout,
		ReadTimeout:           read,
		WriteTimeout:          ioTimeout,
		ContextTimeoutEnabled: true,
		PipelinePoolSize:      -1, // no separate pool for pipelines
		ReadBufferSize:        bufferSize,
		WriteBufferSize:       bufferSize,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, // otherwise it follows the server to other addresses
		},
	}
	for _, n := range nodes {
		o.Addrs = append(o.Addrs, n.Addr)
	}
	return o
}

var silence sync.Once

// Silence turns off go-redis's logger, which prints every failed dial to stderr. A lock under test has thousands of
// them. The logger is global for the process.
func Silence() { silence.Do(logging.Disable) }
