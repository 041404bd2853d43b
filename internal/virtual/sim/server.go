package sim

import (
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/locks"
)

// This file is the interface between the network and a simulated lock service: [Model], [Service] and
// [Server] are implemented by the service, and [Host] is what it uses.

// Model is a lock service that can be simulated.
type Model interface {
	// About returns a few words for the screen: "in-memory Redis". Covers returns what it models:
	// "Redis and of its replication".
	About() string
	Covers() string
	// New creates the servers of a cluster without starting them. Its error wraps
	// [world.Unsupported] if the model has no such cluster.
	New(h *Host, s world.Spec) (Service, error)
	// Purpose returns the purpose of a dial if a function of this name is on its stack; false: the
	// name does not show a purpose.
	Purpose(function string) (Purpose, bool)
}

// Models are models by the names of their services.
type Models map[string]Model

// find returns the model for a cluster.
func (m Models) find(s world.Spec) (Model, error) {
	if s.Service == nil {
		return noService{}, nil
	}
	model, ok := m[s.Service.Name]
	if !ok {
		return nil, world.Unsupportedf("the simulation has no model of %s", s.Service.Name)
	}
	return model, nil
}

// list joins a property of all models, in the order of their names.
func (m Models) list(say func(Model) string) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		said = append(said, say(m[name]))
	}
	return strings.Join(said, ", ")
}

// noService is the service of locks that need none.
type noService struct{ service.NoServers }

func (noService) About() string                          { return "" }
func (noService) Covers() string                         { return "" }
func (noService) New(*Host, world.Spec) (Service, error) { return noService{}, nil }
func (noService) Purpose(string) (Purpose, bool)         { return Operation, false }
func (noService) Processes() []Server                    { return nil }
func (noService) Store() locks.Store                     { return locks.Store{Topology: locks.None} }
func (noService) Opened(world.ClientSpec)                {}

// Purpose is the purpose of a dial, as far as the stack of its caller shows it. Dials of different
// purposes are numbered separately. In the background, a library polls whether a server is back and
// renews subscriptions, and the order of such a dial and a dial for an operation in one instant is
// random.
type Purpose int

// The purposes of dials.
const (
	Operation    Purpose = iota // an operation waits for it
	Subscription                // the library holds a mutex meanwhile
	Lookout                     // is the server back?
)

// Service is the lock service of one cluster.
type Service interface {
	service.Group
	// Processes returns the servers of Nodes, in the same order. Each is a [Streamer] or a
	// [Directory], too.
	Processes() []Server
	// Store returns the client's view of the service. The world adds how to dial it.
	Store() locks.Store
	// Opened is called with each client before it is opened.
	Opened(s world.ClientSpec)
}

// Server is one server. Its methods are called in its own instants and wait only for mutexes.
type Server interface {
	// Start starts its process, with or without its data. End ends it; its connections were closed
	// before.
	Start(keepData bool)
	End()
	// LosePower is called after End: the server loses what it has not flushed to its disk, and returns in words what
	// that was.
	LosePower() (lost string)
	// Resumed is called at the end of a pause.
	Resumed()
	// Ticks returns the bounds of the time between two calls of Tick, which is drawn for each.
	// Zeros: Tick is never called.
	Ticks() (least, most time.Duration)
	// Tick does its periodic work while it runs.
	Tick()
	// Hear receives a message from another server, by its number.
	Hear(from int, what any)
	// AtOnce answers a request for which a client must not wait (see dial.go), in the instant in
	// which the client writes it. done reports that it was one; reply is nil if the server cannot
	// be reached.
	AtOnce(l Line, written []byte) (reply []byte, done bool)
	// ShiftClock shifts its own clock, as [world.Cluster] says.
	ShiftClock(by time.Duration, drift float64)
}

// Streamer is a server that reads the connections of its clients by itself.
type Streamer interface {
	// Serve takes a connection and returns at once. AtOnce is called with the same line.
	Serve(c net.Conn, l Line)
}

// Directory is a server that clients query for the addresses of other servers. Libraries do so under a
// mutex, so a dial succeeds or fails at once. They query several directories at a time and take the
// first answer, so only one directory answers each client.
type Directory interface {
	// Asked receives a client's bytes. Left is called when it hangs up.
	Asked(l Line, written []byte)
	Left(l Line)
}

// Line is a client's connection as its server sees it.
type Line interface {
	// Send sends to the client.
	Send(data []byte)
	// Reachable reports whether client and server can communicate now.
	Reachable() bool
}
