package service

import (
	"context"
	"net"
	"time"
)

// Abilities that Servers may implement. Each works directly on the servers, past all faults, and
// returns when the effect was observed.

// Promoter can have its leader changed.
type Promoter interface {
	// Promote makes a follower the leader and returns when it leads. If node is empty, the service
	// picks the follower.
	Promote(ctx context.Context, node string) (string, error)
}

// Sharded is a service in which several leaders share the keys.
type Sharded interface {
	// LeaderOf names the leader that has a key now.
	LeaderOf(ctx context.Context, key string) (string, error)
	// FollowersOf names the nodes that follow a leader.
	FollowersOf(ctx context.Context, leader string) ([]string, error)
}

// Replicates is a service whose followers may be behind.
type Replicates interface {
	// Offsets returns how much each data node has written or applied. It omits nodes that do not
	// answer.
	Offsets(ctx context.Context) map[string]int64
	// Nudge makes the leader send its followers a write that touches no key.
	Nudge(ctx context.Context, leader string) error
}

// Keeper can report its keys and their remaining lifetimes.
type Keeper interface {
	// TTL returns the remaining lifetime of a key and the one node that holds the key. The lifetime
	// is Forever for a key without an end, and Gone if the key does not exist.
	TTL(ctx context.Context, key string) (ttl time.Duration, node string, err error)
	// Kept returns all keys of all leaders with their remaining lifetimes.
	Kept(ctx context.Context) (map[string]time.Duration, error)
}

// Special results of [Keeper.TTL].
const (
	Forever time.Duration = -1
	Gone    time.Duration = -2
)

// Orderly is a service whose nodes accept administrative orders, which are found by name.
type Orderly interface {
	Orders() map[string]Order
}

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

// Clock reports by how much the clock of a node is wrong.
type Clock interface {
	ClockOffset(ctx context.Context, node string) (time.Duration, error)
}

// Rejoiner is a service in which the other nodes must prepare for a node that lost its data, before
// that node is started again.
type Rejoiner interface {
	// Rejoin prepares the others and reports whether the node joins them: [Place.Rejoins].
	Rejoin(ctx context.Context, node string) (joins bool, err error)
}

// Operated is a service that needs a failover manager.
type Operated interface {
	// Operate runs the failover manager until ctx ends.
	Operate(ctx context.Context)
}

// Identifier returns an identity that distinguishes a node from all others. It asks on a connection
// to the first port of the node.
type Identifier interface {
	Identity(ctx context.Context, c net.Conn) (string, error)
}
