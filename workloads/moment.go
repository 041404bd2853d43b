package workloads

// Event is what happens at a moment of a client's life. Steps of a plan wait for
// most of them.
type Event string

// The events of a tenure, in order.
const (
	// Asking is when a client begins to wait in an acquire: whoever is told to strike a
	// waiter finds one. No step can wait for it.
	Asking Event = "asking"
	// Acquiring is just before it asks, whether it will be granted or not.
	Acquiring Event = "acquiring"
	Acquired  Event = "acquired" // the lock was just granted to it
	// Entered is when a holder was granted its lock once more. What the server keeps
	// after that is worth a question: a lock may add the new lease to the old one. No
	// step can wait for it.
	Entered   Event = "entered"
	Waiting   Event = "waiting"   // it was just refused, and will ask again
	Checked   Event = "checked"   // it has just made sure that it holds
	Releasing Event = "releasing" // just before it gives the lock back
	Released  Event = "released"  // its release was just answered
)

// Moment is a point in a client's life at which a fault may be waiting.
type Moment struct {
	Event   Event
	Client  int
	Session string
	Key     string
	Nodes   []string // the servers that granted, where the client knows them
}
