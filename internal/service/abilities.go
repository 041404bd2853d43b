package service

import (
	"context"
	"net"
	"time"
)

// Abilities are the functions that only some servers have, for faults and checks. A nil function is an
// ability that the servers lack. Each works directly on the servers, past all faults, and returns when
// the effect was observed.
type Abilities struct {
	// Promote makes a follower the leader and returns when it leads. If node is empty, the service
	// picks the follower.
	Promote func(ctx context.Context, node string) (string, error)

	// LeaderOf returns the leader that has a key now, and FollowersOf the nodes that follow a leader,
	// in services in which several leaders share the keys.
	LeaderOf    func(ctx context.Context, key string) (string, error)
	FollowersOf func(ctx context.Context, leader string) ([]string, error)

	// Offsets returns how much each data node has written or applied, without nodes that do not
	// answer. Nudge makes the leader send its followers a write that touches no key. Services have
	// both if followers may be behind.
	Offsets func(ctx context.Context) map[string]int64
	Nudge   func(ctx context.Context, leader string) error

	// TTL returns the remaining lifetime of a key and the one node that holds the key. The lifetime
	// is Forever for a key without an end, and Gone if the key does not exist. Kept returns all keys
	// of all leaders with their remaining lifetimes.
	TTL  func(ctx context.Context, key string) (ttl time.Duration, node string, err error)
	Kept func(ctx context.Context) (map[string]time.Duration, error)

	// ClockOffset returns by how much the clock of a node is wrong.
	ClockOffset func(ctx context.Context, node string) (time.Duration, error)

	// Identity returns an identity that distinguishes a node from all others. It asks on a connection
	// to the first port of the node.
	Identity func(ctx context.Context, c net.Conn) (string, error)

	// Orders are the administrative orders that nodes accept, by name.
	Orders map[string]Order
}

// Special results of [Abilities.TTL].
const (
	Forever time.Duration = -1
	Gone    time.Duration = -2
)

// The names of orders.
const (
	OrderFlush  = "flush"  // remove all keys
	OrderEvict  = "evict"  // remove all keys that have an end, as a node does that has run out of memory
	OrderPoison = "poison" // replace the value of a key by one of another type
	OrderCure   = "cure"   // remove that value
	OrderBusy   = "busy"   // answer no client for a time; the order returns when that has begun
	// OrderDropSubscribers ends the connections of clients that listen for messages.
	OrderDropSubscribers = "drop-subscribers"
)

// Order makes a node do something and returns when the effect was observed.
type Order func(ctx context.Context, to OrderArgs) error

// OrderArgs are the arguments of an order. Each order uses those that it needs.
type OrderArgs struct {
	Node, Key string
	For       time.Duration
}

// OnNode is an order that needs only a node.
func OnNode(do func(ctx context.Context, node string) error) Order {
	return func(ctx context.Context, to OrderArgs) error { return do(ctx, to.Node) }
}

// OnKey is an order that needs a node and a key.
func OnKey(do func(ctx context.Context, node, key string) error) Order {
	return func(ctx context.Context, to OrderArgs) error { return do(ctx, to.Node, to.Key) }
}
