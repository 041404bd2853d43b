package libraries

import (
	"time"

	"github.com/redis/go-redis/v9"
	"lockbench/locks"
)

// clientOptions are options of go-redis. By default it sends each command up to four times and ignores contexts; careful
// turns that off. The map of a cluster is refreshed after the given time; 0: the default.
type clientOptions struct {
	careful bool
	reload  time.Duration
}

// at returns the options of go-redis for some addresses.
func (o clientOptions) at(s locks.Store, addrs ...string) *redis.UniversalOptions {
	u := &redis.UniversalOptions{Addrs: addrs, Dialer: s.Dial, MasterName: s.Params[locks.MasterName]}
	if o.careful {
		u.MaxRetries, u.ContextTimeoutEnabled, u.ReadTimeout, u.DialTimeout = -1, true, time.Second, time.Second
	}
	return u
}

// goRedis returns a client of the store.
func goRedis(s locks.Store, o clientOptions) (redis.UniversalClient, error) {
	switch s.Topology {
	case locks.Single, locks.Replicated:
		return goRedisAt(s, s.Nodes()[0].Addr, o), nil
	case locks.Sentinel:
		return redis.NewFailoverClient(o.at(s, addresses(s.Endpoints[locks.Sentinels])...).Failover()), nil
	case locks.Cluster:
		c := o.at(s, addresses(s.Nodes())...).Cluster()
		c.ClusterStateReloadInterval = o.reload
		return redis.NewClusterClient(c), nil
	}
	return nil, locks.ErrUnsupported
}

// goRedisAt returns a client of one node.
func goRedisAt(s locks.Store, addr string, o clientOptions) *redis.Client {
	return redis.NewClient(o.at(s, addr).Simple())
}

func addresses(nodes []locks.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.Addr
	}
	return all
}
