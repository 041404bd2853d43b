package service

import (
	"context"
	"net"
	"time"
)

// What a service may be able to do beside serving. All of it is done directly, past all
// faults, and returns when it was seen to be done.

// Promoter can have its leader changed.
type Promoter interface {
	// Promote makes a follower the leader (node empty: one that the service picks)
	// and returns when it is.
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
	// Offsets tells how much each data node has written or applied; nodes that do not
	// answer are left out.
	Offsets(ctx context.Context) map[string]int64
	// Nudge makes the leader write something to its followers that touches no key.
	Nudge(ctx context.Context, leader string) error
}

// Keeper can be asked what it keeps.
type Keeper interface {
	// TTL tells how much longer the one server that keeps a key will do so, and which
	// it is: Forever if it has no end, Gone if there is no such key.
	TTL(ctx context.Context, key string) (ttl time.Duration, node string, err error)
	// Kept lists all keys of all leaders, and for how much longer they are kept.
	Kept(ctx context.Context) (map[string]time.Duration, error)
}

// What a Keeper says of keys that do not run out, and of keys that there are not.
const (
	Forever time.Duration = -1
	Gone    time.Duration = -2
)

// Orderly is a service whose nodes an operator can give orders, by their names.
type Orderly interface {
	Orders() map[string]Order
}

// The names of orders.
const (
	OrderFlush  = "flush"  // forget everything
	OrderEvict  = "evict"  // forget all keys that have an end, as a node does that has run out of memory
	OrderPoison = "poison" // put a value of another type in the place of a key
	OrderCure   = "cure"   // remove that value
	OrderBusy   = "busy"   // answer no client for a time; the order returns when that has begun
	// OrderDropSubscribers ends the connections of clients that listen for messages.
	OrderDropSubscribers = "drop-subscribers"
)

// Order makes a node do something, and returns when it was seen to be done.
type Order func(ctx context.Context, to OrderArgs) error

// OrderArgs are the arguments of an order. Each order uses those that it needs.
type OrderArgs struct {
	Node, Key string
	For       time.Duration
}

// OnNode is an order that needs a node alone.
func OnNode(do func(ctx context.Context, node string) error) Order {
	return func(ctx context.Context, to OrderArgs) error { return do(ctx, to.Node) }
}

// OnKey is an order that needs a node and a key.
func OnKey(do func(ctx context.Context, node, key string) error) Order {
	return func(ctx context.Context, to OrderArgs) error { return do(ctx, to.Node, to.Key) }
}

// Clock tells by how much the clock of a node is wrong.
type Clock interface {
	ClockOffset(ctx context.Context, node string) (time.Duration, error)
}

// Rejoiner is a service whose others must be told of a node that lost its data before it is
// started again.
type Rejoiner interface {
	// Rejoin tells them, and says whether the node joins them: [Place.Rejoins].
	Rejoin(ctx context.Context, node string) (joins bool, err error)
}

// Operated is a service whose nodes somebody must watch, who does what an operator does.
type Operated interface {
	// Operate watches until ctx ends.
	Operate(ctx context.Context)
}

// Opaque is a service whose requests nobody reads on the way, for a reason that stands in
// the plan: no client can be stopped between two of them.
type Opaque interface {
	Opaque() string
}

// Identifier tells a node from all others, asked on a connection to its first port.
type Identifier interface {
	Identity(ctx context.Context, c net.Conn) (string, error)
}
