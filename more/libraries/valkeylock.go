package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"lockbench/locks"
)

// newValkeylock opens a Locker of valkeylock.
func newValkeylock(s locks.Store, set watchedSettings, validity time.Duration) (watched, error) {
	o := valkey.ClientOption{}
	if s.Dial != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.Dial(ctx, "tcp", addr)
		}
	}
	var err error
	if o.InitAddress, o.Sentinel.MasterSet, o.ForceSingleClient, err = endpoints(s); err != nil {
		return nil, err
	}
	return valkeylock.NewLocker(valkeylock.LockerOption{
		ClientOption: o, KeyValidity: validity, ExtendInterval: set.extend, TryNextAfter: set.tryNext, KeyMajority: int32(set.majority), NoLoopTracking: set.noLoop, FallbackSETPX: set.setpx,
	})
}
