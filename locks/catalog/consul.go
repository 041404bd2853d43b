package catalog

import (
	"lockbench/locks"
	"lockbench/service/consul"
)

// consulLock is the Lock of Consul's Go client.
func consulLock() Lock {
	return Lock{
		Card: locks.Card{
			Name: "consul-lock", Family: locks.SingleStore,
			Claims: locks.Claims{Renewed: true, Watched: true, Fenced: true, Waits: true},
		},
		About:   "the Lock of Consul's client, a key that a session holds; the token is the key's LockIndex",
		Service: consul.Name, Topologies: []locks.Topology{locks.Single}, Plain: true,
		Options: []Option{
			{Name: "session-ttl", About: "the ttl of a session, where the scenario asks for none; servers end one after twice as long", Default: "15s"},
			{Name: "lock-delay", About: "how long nobody is granted what a session held that ended; 1m0s at most, 0s: 15s", Default: "15s"},
			{Name: "monitor-retries", About: "how often the library asks again for what it holds when that fails, before it says that it is lost", Default: "0"},
			{Name: "monitor-retry-time", About: "how long it waits before that", Default: "2s"},
			{Name: "timeout", About: "how long one request may take, also one that waits for a change; 0s: for ever", Default: "0s"},
		},
		Library: &Library{
			Version: "github.com/hashicorp/consul/api v1.34.4",
			Says:    "Returns a channel that is closed if our lock is lost or an error", Where: "api/lock.go:131", Real: true,
		},
	}
}
