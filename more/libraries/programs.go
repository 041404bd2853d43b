//go:build !wasip1

package libraries

import "lockbench/locks"

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
