//go:build !wasip1

package libraries

import (
	"context"
	"net"

	"github.com/nats-io/nats.go"

	"lockbench/locks"
)

// programs are the libraries that are not part of the WASM module, because their dependencies need a real process.
func programs() []Library {
	return []Library{
		{locks.Card{
			Name: "etcd-mutex", Family: locks.SingleStore,
			Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
		}, openEtcdMutex},
		{locks.Card{Name: "nats-kv", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Fenced: true}}, openNatsKV},
		{locks.Card{Name: "mongo-find-and-modify", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Fenced: true}}, openMongo},
	}
}

// dialer opens connections for the drivers of MongoDB and NATS with the dialer of the store.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func (d dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

func (d dialer) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), nats.DefaultTimeout)
	defer cancel()
	return d(ctx, network, addr)
}
