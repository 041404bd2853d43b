// Package goredis is how this project's locks reach Redis: through go-redis, set
// up so that it never does anything twice.
//
// A client library that resends a command by itself makes a lock lie. SET NX is
// executed, its reply is lost, it is sent again, and the second reply says "taken"
// although the caller holds. So [Connect] takes away every retry, and whatever
// goes wrong between the request and its reply comes up as an error: unknown.
// TestResendingTurnsAGrantIntoTaken shows the lie with go-redis's own settings.
//
// On top of that, [Do] sends a command so that the cluster client too keeps its hands
// off it, [Script] runs Lua, and [Claim], [Disown] and [Extend] are the three steps
// that the locks with an owner's token are made of.
package goredis

import (
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockbench/locks"
	service "lockbench/service/redis"
)

// ioTimeout bounds each dial, read and write. The library's own five seconds would
// hide most faults until they are over.
const ioTimeout = time.Second

// tuning is what differs between clients.
type tuning struct{ read time.Duration }

// poolSize is how many connections one client may have to one server. The library's
// own number depends on the processors of the machine, and with it how the client
// behaves while a server is away: after so many failed dials it stops dialling. A
// lock must not behave otherwise on another machine.
const poolSize = 10

// Connect returns a client of a store that shows one master at a time for each
// key: a single server, the service address of a replicated one, whatever the
// sentinels name, or the nodes of a cluster. It connects when first used.
func Connect(store locks.Store) (redis.UniversalClient, error) {
	return ConnectPatient(store, 0)
}

// ConnectPatient is Connect for who sends commands that the server itself takes its
// time for, such as WAIT: answers may take so much longer.
func ConnectPatient(store locks.Store, more time.Duration) (redis.UniversalClient, error) {
	Silence()
	o := tuning{read: ioTimeout + more}
	switch store.Topology {
	case service.Single, service.Replicated:
		if len(store.Nodes()) == 0 {
			return nil, fmt.Errorf("connect to redis: the %s store names no server", store.Topology)
		}
		return connectNode(store, store.Nodes()[0], o), nil
	case service.Sentinel:
		if n, master := len(store.Endpoints[service.Sentinels]), store.Params[service.MasterName]; n == 0 || master == "" {
			return nil, fmt.Errorf("connect to redis: the sentinel store names %d sentinels and the master %q; both are needed", n, master)
		}
		return connectSentinel(store, o), nil
	case service.Cluster:
		if len(store.Nodes()) == 0 {
			return nil, fmt.Errorf("connect to redis: the cluster store names no node to ask")
		}
		return connectCluster(store, o), nil
	}
	return nil, fmt.Errorf("connect to redis: %w: topology %q; this client speaks single, replicated, sentinel and cluster",
		locks.ErrUnsupported, store.Topology)
}

// ConnectNode returns a client of one server of a store, whatever the topology.
func ConnectNode(store locks.Store, node locks.Node) *redis.Client {
	Silence()
	return connectNode(store, node, tuning{read: ioTimeout})
}

func connectNode(store locks.Store, node locks.Node, o tuning) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  node.Addr,
		Dialer:                store.Dial,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // never resend: see the package comment
		DialerRetries:         1,
		PoolSize:              poolSize,
		DialTimeout:           ioTimeout,
		ReadTimeout:           o.read,
		WriteTimeout:          ioTimeout,
		ContextTimeoutEnabled: true,
		PipelinePoolSize:      -1, // no pool of its own for pipelines
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, // it would follow the server to other addresses
		},
	})
}

// connectSentinel returns a client that asks the sentinels for the master at every
// dial. Dials to sentinels and to masters both go through Store.Dial, and failover
// clients have no maintenance notifications to switch off.
func connectSentinel(store locks.Store, o tuning) redis.UniversalClient {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:            store.Params[service.MasterName],
		SentinelAddrs:         addresses(store.Endpoints[service.Sentinels]),
		Dialer:                store.Dial,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // never resend: see the package comment
		DialerRetries:         1,
		PoolSize:              poolSize,
		DialTimeout:           ioTimeout,
		ReadTimeout:           o.read,
		WriteTimeout:          ioTimeout,
		ContextTimeoutEnabled: true,
		PipelinePoolSize:      -1,
	})
}

// addresses are those of the nodes.
func addresses(nodes []locks.Node) []string {
	addrs := make([]string, len(nodes))
	for i, n := range nodes {
		addrs[i] = n.Addr
	}
	return addrs
}

var silence sync.Once

// Silence stops go-redis from printing to stderr for the whole process, once: it
// has one logger for all its clients, and prints every failed dial, which is what
// a lock under test meets by the thousand.
func Silence() { silence.Do(logging.Disable) }
