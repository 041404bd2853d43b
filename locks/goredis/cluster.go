package goredis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
)

// mapInterval is how old a client's map of the cluster may be.
const mapInterval = time.Second

// connectCluster returns a client of a cluster, which learns from any of its nodes
// who has which slot. It follows MOVED and ASK; it never sends a second time what
// may have been executed, if commands go through [Do] and [Script].
//
// The nodes themselves say which of them has which slots, at the addresses that they
// announce. The client dials those through Store.Dial as well.
func connectCluster(store locks.Store, o tuning) redis.UniversalClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                  addresses(store.Nodes()),
		Dialer:                 store.Dial,
		Protocol:               2,
		DisableIdentity:        true,
		DisableRoutingPolicies: true, // or it asks every server for the list of its commands first
		MaxRetries:             -1,
		// This limits how much later than the cluster itself the client learns that another
		// node has a slot. The library asks once a minute, or after a reply MOVED, but a
		// dead master sends no replies.
		ClusterStateReloadInterval: mapInterval,
		DialerRetries:              1,
		DialTimeout:                ioTimeout,
		ReadTimeout:                o.read,
		WriteTimeout:               ioTimeout,
		ContextTimeoutEnabled:      true,
		PipelinePoolSize:           -1,
	})
}

// Master returns the client of the one server that has a key now, for what must
// stay on one connection.
func Master(ctx context.Context, c redis.UniversalClient, key string) (*redis.Client, error) {
	switch c := c.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("find the master of %q: %w", key, err)
		}
		return node, nil
	}
	return nil, fmt.Errorf("find the master of %q: a client of type %T has none", key, c)
}
