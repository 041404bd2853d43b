//go:build !wasip1

package libraries

import "lockbench/locks"

// programs are the libraries that no module has: what they are made of dials and waits as
// only a program can.
func programs() []Library {
	return []Library{
		{locks.Card{
			Name: "etcd-mutex", Family: locks.SingleStore,
			Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
		}, openEtcdMutex},
		{locks.Card{Name: "nats-kv", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Fenced: true}}, openNatsKV},
		{locks.Card{Name: "mongo-find-and-modify", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Fenced: true}}, openMongo},
		{locks.Card{
			Name: "consul-lock", Family: locks.SingleStore,
			Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
		}, openConsulLock},
	}
}
