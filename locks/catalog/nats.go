package catalog

import (
	"lockbench/locks"
	"lockbench/service/nats"
)

// natsKV is the lock on a key of a bucket of NATS, by its Go client.
func natsKV() Lock {
	return Lock{
		Card:    locks.Card{Name: "nats-kv", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true, Fenced: true}},
		About:   "a key of a JetStream bucket by Create, and Delete at its revision; the token is that revision",
		Service: nats.Name, Topologies: []locks.Topology{locks.Single, nats.Quorum}, Plain: true,
		Options: []Option{
			{Name: "replicas", About: "on how many servers the bucket is kept; 0: on all, three at most", Default: "0"},
			{Name: "expiry", About: "bucket: its ttl is that of all its keys; key: each has its own, in whole seconds", Default: "bucket", Conform: "key"},
			{Name: "limit", About: "how long one request may take", Default: "5s"},
			{Name: "ping", About: "how often an idle connection is asked whether it works", Default: "2m0s"},
			{Name: "reconnect-wait", About: "how long a lost connection waits until it tries a server again", Default: "2s"},
		},
		Library: &Library{
			Version: "github.com/nats-io/nats.go/jetstream v1.55.0",
			Says:    "Create will create the key/value pair if it does not exist; it speaks of no lock", Where: "jetstream/kv.go, KeyValue.Create", Real: true,
		},
	}
}
