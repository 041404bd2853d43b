// Package world is the seam between lockbench and the places in which locks can
// be tried: containers, child processes of this machine, a simulation.
//
// A [World] runs a body with a [Cluster]: a lock service of one topology and the
// means to open clients on it. What else a cluster can do to its nodes and links
// it says by implementing the optional interfaces below ([NodeController],
// [LinkController], ...), which faults find by type assertion.
package world

import (
	"context"
	"errors"
	"time"

	"lockbench/internal/guest"
	"lockbench/locks"
	"lockbench/service"
)

// World is a place in which a lock can be tried.
type World interface {
	Name() string
	// Describe says what the world is, whether it is ready or not.
	Describe() Description
	// Ready returns an error if the world cannot be used on this machine; the error says
	// what would help.
	Ready(ctx context.Context) error
	// About returns a few words that the screen shows after the name, such as the version
	// of the server. It may be called only after Ready has returned nil.
	About() string
	// Sketch is what Run would start, not started: the nodes and what could be done
	// to them, for plans that are drawn before anything runs.
	Sketch(s Spec) Cluster
	// Run starts a cluster, calls body with it, and tears everything down, also
	// when body fails, panics or is cancelled. A virtual-time world encloses body.
	Run(ctx context.Context, s Spec, body func(context.Context, Cluster) error) error
}

// Description is what people must know of a world.
type Description struct {
	What   string // what runs there and what that needs, on one line, for a list of worlds
	Caveat string // what cannot be seen there, in a sentence or two, for reports
	// Virtual says that time is virtual: a run takes none of the real one, and the same
	// input gives the same history to the letter.
	Virtual bool
	// Clients and Servers limit how many of them one lock can have.
	Clients, Servers Limit
	// Commands and Modules report which of the user's guests the world runs: programs of
	// this machine, and WebAssembly modules.
	Commands, Modules bool
	// Services are the names of the lock services that it can start.
	Services []string
	// Programs and Images say whether it runs programs of servers, and images of them.
	Programs, Images bool
}

// ToFetch is why a world that may fetch nothing is not ready: it would be with this.
type ToFetch struct{ What string }

func (e *ToFetch) Error() string {
	return "it would have to fetch " + e.What + " from its registry first; `lockbench doctor --images` does"
}

// Limit is how many of something a world has room for, and why not more. Max 0: any number.
type Limit struct {
	Max int
	Why string
}

// Host is a world that can start a user's guest alone and read its hello, before any
// server is started.
type Host interface {
	Meet(ctx context.Context, c ClientSpec) (Met, error)
}

// Met describes a user's guest by its hello, before any server is started for it.
type Met struct {
	guest.Hello
	// AsksLibc says that it is a program which asks the C library for the time, as those in
	// Python, Node and Java do, and those in Go do not.
	AsksLibc bool
}

// Spec is the cluster that a run asks for.
type Spec struct {
	Service  service.Service // nil: the lock needs no server
	Topology service.Topology
	Settings map[string]string // of the servers, in the words of the service
	Clients  int               // how many clients may be open at once
	LogDir   string            // logs of servers and guests go here
	Seed     uint64            // of the run, for worlds in which chance is simulated
	Clocks   bool              // the servers' clocks will be shifted
	// ClientClocks says that those of the clients will be, and AsksLibc that the clients are
	// programs for which a real world can do that: see [Met].
	ClientClocks, AsksLibc bool
	// Modules says that the clients are modules of WebAssembly, which have clocks and timers
	// of their own, and WritesTime that the lock writes its client's wall clock where others
	// read it.
	Modules, WritesTime bool
}

// Cluster is a running lock service.
type Cluster interface {
	// Nodes, Topology, Leader, Leaders and Healthy are those of the service's group.
	service.Group
	// Servers is that group itself, with all that the service can do: see [Ability].
	Servers() service.Group
	// Open starts a client.
	Open(ctx context.Context, c ClientSpec) (Client, error)
}

// Ability finds something that a cluster can do: its world, or the service in it.
func Ability[T any](c Cluster) (T, bool) {
	if t, ok := c.(T); ok {
		return t, true
	}
	t, ok := c.Servers().(T)
	return t, ok
}

// Order returns an order of the servers by its name, and whether they take it.
func Order(c Cluster, name string) (service.Order, bool) {
	servers, ok := Ability[service.Orderly](c)
	if !ok {
		return nil, false
	}
	order, ok := servers.Orders()[name]
	return order, ok
}

// ClientSpec is a client to be opened.
type ClientSpec struct {
	ID      int // never used twice in one cluster
	Lock    string
	Options map[string]string
	Seed    uint64
	// At most one of these is set and determines how the lock runs: Command starts the
	// user's guest, Module is the path of a guest compiled to WebAssembly, and Opener runs
	// inside this process. If none is set, the client runs `lockbench guest Lock`.
	Command string
	Module  string
	Args    []string // of the module, behind its name
	Opener  locks.Opener
	// OwnScripts permits Lua scripts whose behaviour was not compared with that of a real
	// server. The simulation runs such a script and rejects commands that it does not know.
	OwnScripts bool
	// OpenLimit is how long the client may take to answer open; 0 means guest.OpenLimit.
	OpenLimit time.Duration
	// KeyPrefix is what the names of its keys begin with at the servers. A world sets it.
	KeyPrefix string
	// Log hears what the client's end has to say outside the protocol, and Lost the
	// library's notices that a session's lock is lost. Either may be nil.
	Log  func(line string)
	Lost func(session string)
	// Warn hears, once for each kind of line outside the protocol, what is wrong with it. Nil: Log hears it.
	Warn func(text string)
	// Queued hears that a session's acquire stands in the lock's queue. It may be nil.
	Queued func(session string)
}

// ConnOptions are the options of the connection to the client.
func (s ClientSpec) ConnOptions() guest.ConnOptions {
	return guest.ConnOptions{Noise: s.Log, Warn: s.Warn, Lost: s.Lost, Queued: s.Queued, KeyPrefix: s.KeyPrefix, OpenLimit: s.OpenLimit}
}

// Client is one lock client.
type Client interface {
	// Conn is the protocol: acquire, check, touch, renew, release.
	Conn() *guest.Conn
	// Pause stops the client, timers and all, and returns when it stands still.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Kill ends the client at once, without a word to the lock service.
	Kill(ctx context.Context) error
	// Close ends it in good order; it may have been killed before.
	Close(ctx context.Context) error
}

// Link is a directed way between two ends: nodes or clients, by their names.
type Link struct{ From, To string }

func (l Link) String() string { return l.From + " -> " + l.To }

// ErrUnsupportedHere is a lock that a world cannot try without sparing it some
// fault: its row says so, and no verdict is given.
var ErrUnsupportedHere = errors.New("unsupported here")

// NodeController is a cluster that can kill, start, pause and continue nodes.
type NodeController interface {
	// Kill kills a node and returns when it is gone.
	Kill(ctx context.Context, node string) error
	// Start starts a killed node at its address, with or without its data on disk, and returns
	// when it answers.
	Start(ctx context.Context, node string, keepData bool) error
	PauseNode(ctx context.Context, node string) error
	ResumeNode(ctx context.Context, node string) error
}

// LinkController is a cluster that can break directed links.
type LinkController interface {
	// Cut holds everything on the links until Join. New connections hang.
	Cut(ctx context.Context, links []Link) error
	Join(ctx context.Context, links []Link) error
	// Shape delays everything on the links until Unshape.
	Shape(ctx context.Context, links []Link, delay Delay) error
	Unshape(ctx context.Context, links []Link) error
	// DropReplies drops everything on the links until KeepReplies, which also closes the
	// connections that lost something. The server carries out the requests.
	DropReplies(ctx context.Context, links []Link) error
	KeepReplies(ctx context.Context, links []Link) error
	// Reset closes all connections between the ends of the links, in both directions, drops the
	// data in flight and returns the number of connections, like a router that loses its state.
	// Clients can dial again at once.
	Reset(ctx context.Context, links []Link) (int, error)
}

// Delay is the latency of a link: By plus or minus at most Jitter, drawn for each message. Messages
// stay in order.
type Delay struct{ By, Jitter time.Duration }

// LinkThrottler is a cluster that can make directed links narrow.
type LinkThrottler interface {
	// BandwidthReady says why it cannot.
	BandwidthReady() error
	// Throttle lets so many bytes a second through each of the links; Unthrottle as many
	// as there are, at once.
	Throttle(ctx context.Context, links []Link, bytesPerSecond int64) error
	Unthrottle(ctx context.Context, links []Link) error
	// PingBulk is a [Prober]'s Ping that carries so many bytes there and back.
	PingBulk(ctx context.Context, from, to string, bytes int) error
}

// ClockShifter is a cluster whose servers' wall clocks can be shifted, each by itself,
// if [Spec.Clocks] was asked for. The machine's own clock is never touched.
type ClockShifter interface {
	// ClocksReady says why they cannot be.
	ClocksReady() error
	// ShiftClock lets a node's clock be wrong by so much, and from now on gain drift
	// seconds in every second. Zeros put it right.
	ShiftClock(ctx context.Context, node string, by time.Duration, drift float64) error
}

// ErrClientClock is why a real world spares a client a wrong clock. What is preloaded
// into a process catches those who ask the C library for the time.
var ErrClientClock error = sparing("a client's clock can be shifted in world sim, and elsewhere that of a guest whose runtime asks the C library for the time (Python, Node, Java): a Go program asks the kernel, past anything that could be preloaded")

// ErrProgramDrift is why it spares one a clock that runs fast or slow.
var ErrProgramDrift error = sparing("its clients are programs, whose timers are the kernel's and cannot run fast or slow; as a module (wasm:) they can")

// ErrClientDrift is why a client that is goroutines is spared a clock that runs fast or
// slow: its leases and timers would go on at the right speed.
var ErrClientDrift error = sparing("its clients are goroutines, which have no timers of their own that could run fast or slow; as a module (wasm:) they have")

// sparing is why a fault cannot be brought upon a lock in a world: to try it there without
// would spare it that.
type sparing string

func (s sparing) Error() string        { return string(s) }
func (s sparing) Is(target error) bool { return target == ErrUnsupportedHere }

// ClientClockShifter is a cluster whose clients' clocks can be shifted. Of a client that is
// a module these are all its clocks, and its timers; of goroutines it is what their lock
// looks at to write the time: [locks.Client.Now].
type ClientClockShifter interface {
	// ClientClocksReady says why they cannot be; drifts: why they cannot be made fast or slow.
	ClientClocksReady(drifts bool) error
	// ShiftClientClock is that of [ClockShifter] for a client, and ClientClockOffset tells
	// by how much its clock is wrong now.
	ShiftClientClock(client int, by time.Duration, drift float64) error
	ClientClockOffset(client int) (time.Duration, error)
}

// Action is something that a fault does to nodes, or to links between them.
type Action struct {
	Kind ActionKind
	By   time.Duration // of Lagging
}

// ActionKind is a kind of Action.
type ActionKind string

// The kinds of actions.
const (
	Killing   ActionKind = "killed and started"
	Losing    ActionKind = "killed and started without data"
	Pausing   ActionKind = "paused"
	Promoting ActionKind = "promoted"
	Isolating ActionKind = "cut off from all other servers"
	Cutting   ActionKind = "cut off from other servers"
	Lagging   ActionKind = "slowed down"
	Throttled ActionKind = "narrowed"
	Dropping  ActionKind = "robbed of replies"
	Resetting ActionKind = "robbed of connections"
)

// Prober asks a node for a sign of life on the path that one end uses.
type Prober interface {
	// Ping asks for a sign of life from one end to a node, on the path that from's own
	// connections take, and waits for it until ctx ends.
	Ping(ctx context.Context, from, to string) error
}

// RequestCounter is a cluster that counts what clients send, in the network and so
// past anything a client library may do by itself.
type RequestCounter interface {
	// Requests tells how many commands a client has sent to all nodes, by name in
	// upper case. Those that set up a connection are counted too.
	Requests(client string) map[string]int
}

// RequestHolder is a cluster that can stop a client in the middle of an operation:
// between the request that takes a key and the one that gives it an end, say.
type RequestHolder interface {
	// HoldReply passes the next n requests of a client, to whichever nodes they go, and
	// holds the reply to the last of them. Requests that set up a connection do not count
	// ([service.Wire]).
	HoldReply(client string, n int) Held
	// HoldRequest keeps the n-th request itself back: the server has not seen it.
	HoldRequest(client string, n int) Held
}

// Held is a request that is kept back or the answer to one, from the moment at which it is
// waited for.
type Held interface {
	// Reached is closed when it is there, and kept back with all that follows on its connection.
	Reached() <-chan struct{}
	// GoOn lets it pass, or gives up waiting for it. It is harmless twice, and after Lose.
	GoOn()
	// Lose is for what is there: it never arrives, nor does anything that follows on its
	// connection. That ends at once, or is silent until the client gives it up.
	Lose(silent bool)
}

// Enclosing is a world that wants a process of its own for each lock's run.
type Enclosing interface {
	// Enclosure returns the command of that process, which reads from its standard input
	// what to run. If the command is empty, the run needs no process of its own.
	Enclosure() []string
}
