// Package locks is the contract between lockbench and a distributed lock.
//
// A lock is an [Opener]: given a [Client], it returns a [Locker], one client's
// handle on a lock service. Acquire gives a [Lease], and a Lease is released.
// That is all a lock must do; the smallest correct one is locks/control's
// no-lock (which is a lock only by contract).
//
// # Outcomes
//
// Every call ends in one of three ways, and lockbench's verdicts stand on
// telling them apart:
//
//   - ok (nil error): it happened.
//   - definite failure ([ErrTaken], [ErrNotHeld], [ErrUnsupported]): it did not
//     happen and never will. A lock may say so only if every request that it
//     sent for this call was answered. A client library that resends by itself
//     turns a definite answer into a lie: SET NX was executed, its reply was
//     lost, it was sent again, and says "taken" though the caller holds.
//   - unknown (every other error): it may have happened, or may yet.
//
// # Upgrades
//
// What a lease can do beyond being released it says by implementing one of the
// small interfaces [Renewer], [Fenced], [Bounded], [Renewed], [Watched] and
// [Placed], which are found by type assertion. A lock implements those that are
// true of it and leaves out the rest.
//
// Lock code uses plain package time and its ordinary client library. It knows
// of its surroundings only what [Client] tells, so it runs unmodified in every
// world, and equally well outside lockbench.
package locks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Locker is one client's handle on a lock service. Its methods may be called
// from several goroutines.
type Locker interface {
	// Acquire asks for the lock. It may return a Lease together with an unknown
	// error: whether the lock is held is unknown, and releasing the Lease
	// cleans up what may have been taken.
	Acquire(ctx context.Context, r Request) (Lease, error)
	Close() error
}

// Request is one attempt to get a lock.
type Request struct {
	Keys  []string      // one name; several ask for all of them together
	Mode  Mode          // Exclusive or Shared
	Owner string        // who asks: the same owner again means re-entry; empty: a fresh one
	TTL   time.Duration // 0: the lock's own default, renewed for as long as it is held
	Wait  time.Duration // 0: try once
	// Queued, if not nil, is to be called by a lock that serves waiters in the order of
	// a queue, once it knows that this one is in it. It does not wait.
	Queued func()
}

// Mode says whether a lock is exclusive or shared.
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

// Lease is one tenure, not a reusable mutex, so that a history can name it.
type Lease interface {
	Release(ctx context.Context) error
}

// Renewer is a lease whose end can be moved: to ttl from now.
type Renewer interface {
	Renew(ctx context.Context, ttl time.Duration) error
}

// Fenced is a lease with a fencing token, which grows with every grant.
type Fenced interface{ Token() uint64 }

// Bounded is a lease that knows its end: the start of the attempt that was
// granted plus the TTL, less what the lock itself allows for drift. After a
// Renew it tells the new end.
type Bounded interface{ Until() time.Time }

// Renewed is a lease that its library keeps alive by itself, Lease at a time.
type Renewed interface{ Lease() time.Duration }

// Watched is a lease whose library tells when it knows that the lock is lost.
type Watched interface{ Lost() <-chan struct{} }

// Placed is a lease that knows which servers granted it, by their names in Store.
type Placed interface{ Nodes() []string }

// The definite failures. Any other error means that the outcome is unknown.
var (
	// ErrTaken: the lock was not granted, and nothing of this attempt is left.
	ErrTaken = errors.New("taken")
	// ErrNotHeld: there was nothing to release or renew.
	ErrNotHeld = errors.New("not held")
	// ErrUnsupported: the lock cannot do what the request asks for.
	ErrUnsupported = errors.New("unsupported")
)

// Client is all that a lock may know of its surroundings.
type Client struct {
	ID    int
	Rand  *rand.Rand // this client's own chance, drawn from the run's seed
	Store Store
	// Now is the client's wall clock, for locks that write its time where others read
	// it. Nil: time.Now. What a lock measures for itself, it measures by time.Now, whose
	// reading no step of the wall clock moves.
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

// Topology is how the nodes of a lock service are joined.
type Topology string

// The topologies that every service may have. A service has words of its own for
// others: those of Redis are in lockbench/service/redis.
const (
	None        Topology = "none" // for locks which need no server
	Single      Topology = "single"
	Replicated  Topology = "replicated"
	Independent Topology = "independent"
)

// Store is where a lock keeps its state: the seam between the worlds.
type Store struct {
	Service  string   // "redis"; empty where there is no server
	Topology Topology // how the nodes of the service are joined, in its own words
	// Endpoints are where clients may connect, by what is there. Those of the service
	// itself stand under its name.
	Endpoints map[string][]Node
	// Params are what clients must know besides the addresses, by the service's own names for it.
	Params map[string]string
	// Dial opens every connection to the store. Nil: an ordinary dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Dir is a directory that all clients of one run share, for locks that live in files.
	Dir string
}

// Nodes are the endpoints of the service itself: the one server of single, the leader's
// service address of replicated, all leaders of independent.
func (s Store) Nodes() []Node { return s.Endpoints[s.Service] }

// Node is a server, by the name that plans and reports use for it.
type Node struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
}

// Claims are what a lock says of itself; histories carry them to the checkers.
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

	// The abilities of the lock beyond one try at one name, alone.
	Reentrant bool `json:"reentrant,omitempty"` // an owner that holds is granted again at once
	Shared    bool `json:"shared,omitempty"`    // there is a mode that several clients may hold together
	Several   bool `json:"several,omitempty"`   // several names in one request
	Waits     bool `json:"waits,omitempty"`     // a request may wait
}

// Leaseless tells whether the lock has no lease to give, so that a client must not ask for one:
// what it grants ends with a connection, and with nothing else.
func (c Claims) Leaseless() bool { return c.Session && !c.Bounded && !c.Renewed }
