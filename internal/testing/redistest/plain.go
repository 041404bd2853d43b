package redistest

import (
	"context"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/guest"
	"lockbench/locks"
)

// Serve makes the test program a guest of the lock "plain". The guest "foreign" has neither source addresses nor address maps.
func Serve() error {
	own := os.Args[1] != "foreign"
	hello := guest.Hello{Name: "plain", SourceAddress: own, AddrMap: own}
	return guest.Main(context.Background(), hello, guest.Always(Open))
}

// Plain is SET NX with a token on one server, and DEL. It is enough to test whether a client reaches the servers.
type Plain struct{ Client redis.UniversalClient }

// Open opens the lock.
func Open(_ context.Context, c locks.Client) (locks.Locker, error) {
	redis.SetLogger(Silent{})
	const limit = 300 * time.Millisecond
	s := c.Store
	if s.Topology == locks.Sentinel {
		return Plain{redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: s.Params[locks.MasterName], SentinelAddrs: addresses(s.Endpoints[locks.Sentinels]),
			Dialer: s.Dial, MaxRetries: -1, DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit,
		})}, nil
	}
	if len(s.Nodes()) == 0 {
		return Plain{}, nil
	}
	if s.Topology == locks.Cluster {
		return Plain{redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: addresses(s.Nodes()), Dialer: s.Dial, MaxRetries: -1, DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit,
		})}, nil
	}
	return Plain{redis.NewClient(&redis.Options{
		Addr: s.Nodes()[0].Addr, Dialer: s.Dial, MaxRetries: -1,
		DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit,
	})}, nil
}

func addresses(nodes []locks.Node) (addrs []string) {
	for _, n := range nodes {
		addrs = append(addrs, n.Addr)
	}
	return addrs
}

// Silent is a logger for go-redis that discards everything.
type Silent struct{}

// Printf does nothing.
func (Silent) Printf(context.Context, string, ...any) {}

// Acquire takes the first key.
func (p Plain) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if p.Client == nil {
		return lease{p, r.Keys[0]}, nil
	}
	ok, err := p.Client.SetNX(ctx, r.Keys[0], r.Owner, r.TTL).Result()
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, locks.ErrTaken
	}
	return lease{p, r.Keys[0]}, nil
}

// Close closes the connections.
func (p Plain) Close() error {
	if p.Client == nil {
		return nil
	}
	return p.Client.Close()
}

type lease struct {
	p   Plain
	key string
}

// Release deletes the lock without checking its holder.
func (l lease) Release(ctx context.Context) error {
	if l.p.Client == nil {
		return nil
	}
	return l.p.Client.Del(ctx, l.key).Err()
}
