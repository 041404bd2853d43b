package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"lockbench/locks"
	service "lockbench/service/redis"
)

// openRueidislock opens a Locker of rueidislock.
func openRueidislock(o Options) (locks.Opener, error) {
	s, err := watchedOptions(&o)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		return newWatchedLocker(s, rueidislock.ErrNotLocked, func(validity time.Duration) (watched, error) {
			return newRueidislock(c.Store, s, validity)
		}), nil
	}, nil
}

func newRueidislock(s locks.Store, set watchedSettings, validity time.Duration) (watched, error) {
	o := rueidisDials(s)
	switch s.Topology {
	case service.Single, service.Replicated:
		o.InitAddress, o.ForceSingleClient = []string{s.Nodes()[0].Addr}, true
	case service.Sentinel:
		o.InitAddress, o.Sentinel.MasterSet = addresses(s.Endpoints[service.Sentinels]), s.Params[service.MasterName]
	case service.Cluster:
		o.InitAddress = addresses(s.Nodes())
	default:
		return nil, locks.ErrUnsupported
	}
	return rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyValidity: validity, ExtendInterval: set.extend, TryNextAfter: set.tryNext, KeyMajority: int32(set.majority), NoLoopTracking: set.noLoop, FallbackSETPX: set.setpx,
	})
}

// rueidisDials returns the options of a rueidis client with the dialer of a store.
func rueidisDials(s locks.Store) (o rueidis.ClientOption) {
	if s.Dial != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.Dial(ctx, "tcp", addr)
		}
	}
	return o
}
