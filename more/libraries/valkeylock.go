package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"lockbench/locks"
	service "lockbench/service/redis"
)

// openValkeylock opens a Locker of valkeylock.
func openValkeylock(o Options) (locks.Opener, error) {
	s, err := watchedOptions(&o)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		return newWatchedLocker(s, valkeylock.ErrNotLocked, func(validity time.Duration) (watched, error) {
			return newValkeylock(c.Store, s, validity)
		}), nil
	}, nil
}

func newValkeylock(s locks.Store, set watchedSettings, validity time.Duration) (watched, error) {
	o := valkey.ClientOption{}
	if s.Dial != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.Dial(ctx, "tcp", addr)
		}
	}
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
	return valkeylock.NewLocker(valkeylock.LockerOption{
		ClientOption: o, KeyValidity: validity, ExtendInterval: set.extend, TryNextAfter: set.tryNext, KeyMajority: int32(set.majority), NoLoopTracking: set.noLoop, FallbackSETPX: set.setpx,
	})
}
