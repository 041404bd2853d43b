// Package locks is the contract between lockbench and a distributed lock.
//
// A lock is an [Opener]: a function that takes a [Client] and returns a [Locker], the handle of one client on a lock
// service. Acquire returns a [Lease], and Release of the lease ends the hold. A lock needs nothing else.
//
// # Outcomes
//
// Every call has one of three outcomes. The verdicts of lockbench depend on them:
//
//   - ok (nil error): the call took effect.
//   - definite failure ([ErrTaken], [ErrNotHeld], [ErrUnsupported]): the call did not take effect and never will. A lock
//     may return such an error only if all of its requests for this call were answered. A client library that resends
//     requests makes the error wrong: if the reply to SET NX is lost and the library sends it again, the second reply
//     is "taken" although the caller holds the lock.
//   - unknown (every other error): the call may have taken effect, or may still take effect.
//
// Release and Renew have a fourth outcome for libraries whose own call returns nothing: [ErrUnconfirmed].
//
// # Optional interfaces
//
// A lease can implement the interfaces [Renewer], [Fenced], [Bounded], [Renewed], [Watched] and [Placed]. lockbench finds
// them by type assertion.
//
// Lock code uses package time and its ordinary client library. It knows its environment only from [Client], so it runs
// unchanged in every world, and also without lockbench.
package locks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Locker is the handle of one client on a lock service. Its methods may be called from several goroutines.
type Locker interface {
	// Acquire requests the lock. If the outcome is unknown, it may return a Lease together with the error. Releasing that
	// Lease releases the lock if it was granted.
	Acquire(ctx context.Context, r Request) (Lease, error)
	Close() error
}

// Request is one attempt to get a lock.
type Request struct {
	Keys  []string      // one name, or several names to acquire together
	Mode  Mode          // Exclusive or Shared
	Owner string        // a request with the owner of a hold is a re-entry; empty: a new owner
	TTL   time.Duration // 0: the default of the lock, renewed while it is held
	Wait  time.Duration // 0: try once
	// Queued, if not nil, is called by a lock with a queue of waiters when it knows that this request is in the queue.
	// Queued does not block.
	Queued func()
}

// Mode is exclusive or shared.
type Mode uint8

// The modes of a request.
const (
	Exclusive Mode = iota
	Shared
)

func (m Mode) String() string {
	if m == Shared {
		return "shared"
	}
	return "exclusive"
}

// MarshalText returns the mode's word.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the mode's word. The empty word is Exclusive.
func (m *Mode) UnmarshalText(text []byte) error {
	switch string(text) {
	case "shared":
		*m = Shared
	case "exclusive", "":
		*m = Exclusive
	default:
		return fmt.Errorf("the mode %q is not known; expected exclusive or shared", text)
	}
	return nil
}

// Lease is one hold of a lock. It is not a reusable mutex, so that a history can name each hold.
type Lease interface {
	Release(ctx context.Context) error
}

// Renewer is a lease whose end can be moved to ttl from now.
type Renewer interface {
	Renew(ctx context.Context, ttl time.Duration) error
}

// Fenced is a lease with a fencing token, which grows with every grant.
type Fenced interface{ Token() uint64 }

// Bounded is a lease that knows its end: the start of the granted attempt plus the TTL, minus the lock's own allowance for
// clock drift. After a Renew it returns the new end. A lock whose library does not report the end has leases without this
// method, or returns the zero time: its client counts the TTL from the answer.
type Bounded interface{ Until() time.Time }

// Renewed is a lease that its library renews. Lease returns the length of each renewal.
type Renewed interface{ Lease() time.Duration }

// Paced is a Renewed lease whose library does not renew three times in the length of a lease. Period returns the time between two
// renewals.
type Paced interface{ Period() time.Duration }

// Watched is a lease whose library closes a channel when it knows that the lock is lost.
type Watched interface{ Lost() <-chan struct{} }

// Placed is a lease that knows the servers that granted it, by their names in Store.
type Placed interface{ Nodes() []string }

// The definite failures. Any other error means that the outcome is unknown.
var (
	// ErrTaken means that the lock was not granted, and that this attempt has left nothing on the servers.
	ErrTaken = errors.New("taken")
	// ErrNotHeld means that there was no hold to release or renew.
	ErrNotHeld = errors.New("not held")
	// ErrUnsupported means that the lock does not support the request.
	ErrUnsupported = errors.New("unsupported")
)

// ErrUnconfirmed means that a release or a renewal has returned without an error, and that the library does not report
// whether there was a hold. The call has no later effect. The caller counts on the lock no longer than before the call.
var ErrUnconfirmed = errors.New("unconfirmed")

// Client is the environment of a lock.
type Client struct {
	ID    int
	Rand  *rand.Rand // the random source of this client, seeded by the run
	Store Store
	// Now is the client's wall clock, for locks that store the time where other clients read it. Nil means time.Now. For
	// durations, a lock uses time.Now, whose monotonic reading does not follow steps of the wall clock.
	Now func() time.Time
}

// Clock is Now, or time.Now.
func (c Client) Clock() func() time.Time {
	if c.Now == nil {
		return time.Now
	}
	return c.Now
}

// Opener opens one client's handle on a lock service.
type Opener func(ctx context.Context, c Client) (Locker, error)

// Topology is the arrangement of the nodes of a lock service.
type Topology string

// The topologies that several services have, and those of Redis.
const (
	None        Topology = "none" // for locks without servers
	Single      Topology = "single"
	Replicated  Topology = "replicated"
	Independent Topology = "independent"
	// Sentinel is a leader with followers. Sentinels watch it and report its address to clients.
	Sentinel Topology = "sentinel"
	// Cluster is several leaders with followers. The leaders share the slots of the keys and redirect clients.
	Cluster Topology = "cluster"
)

// These names are in a store of the topology Sentinel.
const (
	Sentinels  = "sentinel"    // the role of the sentinels among the endpoints
	MasterName = "master_name" // the parameter with the sentinels' name of the leader
)

// Store is the lock service as a client reaches it. Worlds differ in their stores.
type Store struct {
	Service  string   // such as "redis"; empty without servers
	Topology Topology // the topology of the service
	// Endpoints are the addresses for clients by their role. The addresses of the service itself have its name as key.
	Endpoints map[string][]Node
	// Params are other values that clients need, by the names of the service.
	Params map[string]string
	// Dial opens every connection to the store. Nil means an ordinary dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Dir is a directory that all clients of one run share, for locks in files.
	Dir string
}

// Nodes returns the endpoints of the service itself: the server of single, the address that follows the leader of replicated,
// or all leaders of independent.
func (s Store) Nodes() []Node { return s.Endpoints[s.Service] }

// Node is a server with its name in plans and reports.
type Node struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
}

// Claims are the capabilities of a lock. Histories contain them for the checkers.
type Claims struct {
	Strict  bool `json:"strict,omitempty"`  // a refused try means that the lock was held at some instant of the try
	Bounded bool `json:"bounded,omitempty"` // leases end by themselves
	Renewed bool `json:"renewed,omitempty"` // the library keeps leases alive
	Fenced  bool `json:"fenced,omitempty"`  // leases carry tokens
	Fair    bool `json:"fair,omitempty"`    // waiters are served in the order of their requests
	Watched bool `json:"watched,omitempty"` // the library notifies the holder when a lock is lost
	// Session means that holds end with the client's connection to the service. Unless the lock
	// claims leases too, Acquire with a TTL returns [ErrUnsupported], and the host requests a
	// TTL of 0.
	Session bool `json:"session,omitempty"`

	// The abilities of the lock beyond one exclusive try for one name.
	Reentrant bool `json:"reentrant,omitempty"` // an owner that holds is granted again at once
	Shared    bool `json:"shared,omitempty"`    // there is a mode that several clients may hold together
	Several   bool `json:"several,omitempty"`   // several names in one request
	Waits     bool `json:"waits,omitempty"`     // a request may wait
}

// Leaseless reports whether holds end only with a connection, so that clients must not request a lease.
func (c Claims) Leaseless() bool { return c.Session && !c.Bounded && !c.Renewed }
