package goredis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// mapInterval is the maximal age of a client's map of the cluster.
const mapInterval = time.Second

// connectCluster returns a client of a cluster, which learns the map of slots from any node. It follows MOVED and ASK. It
// never resends a command that may have been executed, if commands go through [Do] and [Script].
//
// The map contains the addresses that the nodes announce. The client dials them through Store.Dial too.
func connectCluster(o *redis.ClusterOptions) redis.UniversalClient {
	o.DisableRoutingPolicies = true // otherwise it first queries the commands of every server
	o.PoolSize = 0                  // the default of the library
	// This limits the delay after which the client learns that a slot has moved. By default, the library reloads the map
	// once a minute or after a reply MOVED, but a dead master sends no reply.
	o.ClusterStateReloadInterval = mapInterval
	return redis.NewClusterClient(o)
}

// Master returns a client of the server that has a key now, for commands that must use one connection.
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
