package workloads

import (
	"time"

	"lockbench/locks"
)

// Event is an event in a client's life. Most events are triggers of steps.
type Event string

// The events of a hold, in order.
const (
	// Asking is when a client begins to wait in an acquire, so that a fault with the target waiter finds one. It is not a
	// trigger.
	Asking Event = "asking"
	// Acquiring is just before a client requests a lock.
	Acquiring Event = "acquiring"
	Acquired  Event = "acquired" // the lock was granted
	// Entered is a re-entry of the holder. The lock may wrongly add the new lease to the old one, so the run then queries
	// the server's lease. Entered is not a trigger.
	Entered   Event = "entered"
	Waiting   Event = "waiting"   // the request was refused, and the client will retry
	Checked   Event = "checked"   // the client has checked that it holds
	Releasing Event = "releasing" // just before the release
	Released  Event = "released"  // the release was answered
)

// Moment is a point in a client's life that can trigger a fault.
type Moment struct {
	Event   Event
	Client  int
	Session string
	Key     string
	Mode    locks.Mode
	Nodes   []string      // the servers that granted, if the client knows them
	Lease   time.Duration // of a lock that its library renews, if the library tells its length
}
