package sim

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/service"
)

// This file is the seam between the network and the servers in it: what a lock service
// brings to be simulated ([Model], [Service], [Server]). What it finds there is [Host].

// Model is a lock service that can be simulated.
type Model interface {
	// About is the few words that the screen shows of it: "in-memory Redis". Covers is what
	// it is a model of: "Redis and of its replication".
	About() string
	Covers() string
	// New makes the servers of a cluster, none of them started. An error that wraps
	// [world.ErrUnsupportedHere] says that the model has no such cluster.
	New(h *Host, s world.Spec) (Service, error)
	// Purpose is what a connection is dialled for if a function of this name stands on
	// the stack of the dial; false: the name does not say.
	Purpose(function string) (Purpose, bool)
}

// Models are models by the names of their services.
type Models map[string]Model

// of is the model for a cluster.
func (m Models) of(s world.Spec) (Model, error) {
	if s.Service == nil {
		return nobody{}, nil
	}
	model, ok := m[s.Service.Name()]
	if !ok {
		return nil, fmt.Errorf("%w: the simulation has no model of %s", world.ErrUnsupportedHere, s.Service.Name())
	}
	return model, nil
}

// list says something of all models, in the order of their names.
func (m Models) list(say func(Model) string) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		said = append(said, say(m[name]))
	}
	return strings.Join(said, ", ")
}

// nobody is the service of locks that need none.
type nobody struct{ service.Nobody }

func (nobody) About() string                          { return "" }
func (nobody) Covers() string                         { return "" }
func (nobody) New(*Host, world.Spec) (Service, error) { return nobody{}, nil }
func (nobody) Purpose(string) (Purpose, bool)         { return Operation, false }
func (nobody) Processes() []Server                    { return nil }
func (nobody) Store() locks.Store                     { return locks.Store{Topology: locks.None} }
func (nobody) Opened(world.ClientSpec)                {}

// Purpose is what a client dials for, as far as its stack tells. Dials of different
// purposes are numbered apart: a library looks in the background whether a server is
// back, and renews subscriptions, and where that falls on the same instant as a dial
// for an operation, which of them comes first is a matter of luck.
type Purpose int

// The purposes of dials.
const (
	Operation    Purpose = iota // somebody waits for it
	Subscription                // the library holds a mutex meanwhile
	Lookout                     // is the server back?
)

// Service is the lock service of one cluster, of which everybody may ask how it is.
type Service interface {
	service.Group
	// Processes are the servers of Nodes, in the same order. Each has a [Streamer] or a
	// [Directory] in it.
	Processes() []Server
	// Store is what a client may know of the service. How to dial it is added to that.
	Store() locks.Store
	// Opened hears of each client before it is opened.
	Opened(s world.ClientSpec)
}

// Server is one server. Its methods are called in instants that are its own, and return
// without having waited for anything but a mutex.
type Server interface {
	// Start starts its process, with what it has kept or without. End ends it; all its
	// connections have been hung up before.
	Start(keepData bool)
	End()
	// Resumed is the end of a pause.
	Resumed()
	// Ticks is how long it is between two calls of Tick, drawn anew for each: at least,
	// and at most. Zeros: there are none.
	Ticks() (least, most time.Duration)
	// Tick is what it does by the clock, as long as it runs.
	Tick()
	// Hear is what another server, by its number, has told it.
	Hear(from int, what any)
	// AtOnce answers what a client must not wait for (see dial.go), in the instant in
	// which it writes that. done says that this was such a thing; a reply that is nil then says
	// that the server cannot be reached.
	AtOnce(l Line, written []byte) (reply []byte, done bool)
	// ShiftClock lets its own clock be wrong, as [world.ClockShifter] says.
	ShiftClock(by time.Duration, drift float64)
}

// Streamer is a server that reads the connections of its clients by itself.
type Streamer interface {
	// Serve takes a connection and returns at once. AtOnce is called with the same line.
	Serve(c net.Conn, l Line)
}

// Directory is a server that clients ask for the way to others. Libraries do so under
// a mutex, so it can be dialled at once or not at all; and as they ask several at a time
// and take the first answer, each client has one that answers.
type Directory interface {
	// Asked is what a client has written. Left is its hanging up.
	Asked(l Line, written []byte)
	Left(l Line)
}

// Line is a client's connection as its server sees it.
type Line interface {
	// Send says something to the client.
	Send(data []byte)
	// Reachable tells whether the two could hear each other now.
	Reachable() bool
}
