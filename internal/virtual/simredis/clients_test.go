package simredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/worldtest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// The clients of go-redis with their default options connect, lock, read and unlock. The module more tests other
// libraries.
func TestStockClients(t *testing.T) {
	if !worldtest.IsAlone(t) {
		t.Parallel() // the test runs in its own process
	}
	worldtest.Alone(t, func() {
		// All clients share a bubble, because go-redis keeps timers that no other bubble may use.
		synctest.Test(t, func(t *testing.T) {
			for _, one := range stockClients {
				err := inside(t, Model{}, redistest.Spec(one.topology, world.Spec{}), func(ctx context.Context, c *trial) error {
					return lockOnce(ctx, one.connect(stockStore(t, c)))
				})
				if one.wants == "" && err != nil || one.wants != "" && (err == nil || !strings.Contains(err.Error(), one.wants)) {
					t.Errorf("%s: %v, want %q", one.name, err, one.wants)
				}
			}
		})
	})
}

var stockClients = []struct {
	name     string
	topology locks.Topology
	connect  func(locks.Store) goredis.UniversalClient
	wants    string // the expected error; empty: none
}{
	{"Client", locks.Single, func(s locks.Store) goredis.UniversalClient {
		return goredis.NewClient(&goredis.Options{Addr: addresses(s.Nodes())[0], Dialer: s.Dial})
	}, ""},
	{"UniversalClient", locks.Single, func(s locks.Store) goredis.UniversalClient {
		return goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: addresses(s.Nodes()), Dialer: s.Dial})
	}, ""},
	{"Ring", locks.Independent, func(s locks.Store) goredis.UniversalClient {
		shards := map[string]string{}
		for _, n := range s.Nodes() {
			shards[n.Name] = n.Addr
		}
		return goredis.NewRing(&goredis.RingOptions{Addrs: shards, Dialer: s.Dial})
	}, ""},
	{"FailoverClient", locks.Sentinel, func(s locks.Store) goredis.UniversalClient {
		return goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: s.Params[locks.MasterName], SentinelAddrs: addresses(s.Endpoints[locks.Sentinels]), Dialer: s.Dial,
		})
	}, ""},
	// NewFailoverClusterClient is left out: its Close leaves its subscription at the sentinels open.
	{"UniversalClient with a master's name", locks.Sentinel, func(s locks.Store) goredis.UniversalClient {
		return goredis.NewUniversalClient(&goredis.UniversalOptions{
			MasterName: s.Params[locks.MasterName], Addrs: addresses(s.Endpoints[locks.Sentinels]), Dialer: s.Dial,
		})
	}, ""},
	{"ClusterClient with slots of its own", locks.Single, func(s locks.Store) goredis.UniversalClient {
		return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addresses(s.Nodes()), Dialer: s.Dial,
			ClusterSlots: func(context.Context) ([]goredis.ClusterSlot, error) {
				return []goredis.ClusterSlot{{Start: 0, End: 16383, Nodes: []goredis.ClusterNode{{Addr: s.Nodes()[0].Addr}}}}, nil
			}})
	}, ""},
	// A real server outside of a cluster gives the same answer.
	{"ClusterClient", locks.Single, func(s locks.Store) goredis.UniversalClient {
		return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addresses(s.Nodes()), Dialer: s.Dial})
	}, "This instance has cluster support disabled"},
}

func addresses(nodes []locks.Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Addr)
	}
	return all
}

// stockStore returns the addresses of the cluster for a client.
func stockStore(t *testing.T, c *trial) locks.Store {
	s := c.servers.Store()
	s.Dial = talk(t, c, 1).dial
	return s
}

// lockOnce locks, reads and unlocks, on several connections at once if the client supports it.
func lockOnce(ctx context.Context, client goredis.UniversalClient) (err error) {
	defer func() { err = errors.Join(err, client.Close()) }()
	unlock := goredis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	parallel := 4
	if _, cluster := client.(*goredis.ClusterClient); cluster {
		parallel = 1 // its first command sends COMMAND while it holds a mutex, so others would stop the clock
	}
	done := make(chan error, parallel)
	for i := range parallel {
		go func() {
			done <- func() error {
				key, mine := fmt.Sprintf("key-%d", i), fmt.Sprint("token-", i)
				if ok, err := client.SetNX(ctx, key, mine, 10*time.Second).Result(); err != nil || !ok {
					return fmt.Errorf("SET NX PX: %v, %w", ok, err)
				}
				if got, err := client.Get(ctx, key).Result(); err != nil || got != mine {
					return fmt.Errorf("GET: %q, %w", got, err)
				}
				if n, err := unlock.Run(ctx, client, []string{key}, mine).Int(); err != nil || n != 1 {
					return fmt.Errorf("EVALSHA: %d, %w", n, err)
				}
				return nil
			}()
		}()
	}
	for range parallel {
		err = errors.Join(err, <-done)
	}
	return err
}
