package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"lockbench/locks"
)

// newRueidislock opens a Locker of rueidislock.
func newRueidislock(s locks.Store, set watchedSettings, validity time.Duration) (watched, error) {
	o := rueidisDials(s)
	var err error
	if o.InitAddress, o.Sentinel.MasterSet, o.ForceSingleClient, err = endpoints(s); err != nil {
		return nil, err
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
