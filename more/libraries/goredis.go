package libraries

import (
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	service "lockbench/service/redis"
)

// clientOptions are options of go-redis. By default it sends each command up to four times and ignores contexts; careful
// turns that off. The map of a cluster is refreshed after the given time; 0: the default.
type clientOptions struct {
	careful bool
	reload  time.Duration
}

// goRedis returns a client of the store.
func goRedis(s locks.Store, o clientOptions) (redis.UniversalClient, error) {
	switch s.Topology {
	case service.Single, service.Replicated:
		return goRedisAt(s, s.Nodes()[0].Addr, o), nil
	case service.Sentinel:
		f := &redis.FailoverOptions{MasterName: s.Params[service.MasterName], SentinelAddrs: addresses(s.Endpoints[service.Sentinels]), Dialer: s.Dial}
		if o.careful {
			f.MaxRetries, f.ContextTimeoutEnabled, f.ReadTimeout, f.DialTimeout = -1, true, time.Second, time.Second
		}
		return redis.NewFailoverClient(f), nil
	case service.Cluster:
		c := &redis.ClusterOptions{Addrs: addresses(s.Nodes()), Dialer: s.Dial, ClusterStateReloadInterval: o.reload}
		if o.careful {
			c.MaxRetries, c.ContextTimeoutEnabled, c.ReadTimeout, c.DialTimeout = -1, true, time.Second, time.Second
		}
		return redis.NewClusterClient(c), nil
	}
	return nil, locks.ErrUnsupported
}

// goRedisAt returns a client of one node.
func goRedisAt(s locks.Store, addr string, o clientOptions) *redis.Client {
	c := &redis.Options{Addr: addr, Dialer: s.Dial}
	if o.careful {
		c.MaxRetries, c.ContextTimeoutEnabled, c.ReadTimeout, c.DialTimeout = -1, true, time.Second, time.Second
	}
	return redis.NewClient(c)
}

func addresses(nodes []locks.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.Addr
	}
	return all
}
