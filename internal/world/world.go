// Package world is the interface between lockbench and the worlds in which it runs locks: containers,
// child processes of this machine, a simulation.
//
// A [World] runs a body with a [Cluster]: a lock service of one topology, on which clients can be opened and
// faults injected. A [Sketch] describes a cluster before it is started.
package world

import (
	"context"
	"errors"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/secret"
	"lockbench/internal/service"
	"lockbench/locks"
)

// World runs clusters.
type World interface {
	Name() string
	// Describe describes the world, whether it is ready or not.
	Describe() Description
	// Ready returns an error if the world cannot be used on this machine; the error says
	// what would help.
	Ready(ctx context.Context) error
	// About returns a few words that the screen shows after the name, such as the version
	// of the server. It may be called only after Ready has returned nil.
	About() string
	// Meet starts a user's guest alone and reads its hello, before any server is started. Description
	// tells which guests the world can start.
	Meet(ctx context.Context, c ClientSpec) (Met, error)
	// Sketch describes the cluster that Run would start, for plans.
	Sketch(s Spec) Sketch
	// Run starts a cluster, calls body with it, and tears everything down, also if body fails, panics or is
	// cancelled.
	Run(ctx context.Context, s Spec, body func(context.Context, Cluster) error) error
}

// Description describes a world to users.
type Description struct {
	What   string // one line for a list of worlds
	Caveat string // the limits of its results, in a sentence or two, for reports
	// Virtual reports that time is virtual: a run takes no real time, and the same input gives the same history,
	// byte for byte.
	Virtual bool
	// Enclosure is the command of a process that the run of each lock needs. It reads the run from its
	// standard input. Empty: no process is needed.
	Enclosure []string
	// Clients and Servers limit how many of them one lock can have.
	Clients, Servers Limit
	// Commands and Modules report which of the user's guests the world runs: programs of
	// this machine, and WebAssembly modules.
	Commands, Modules bool
	// Services are the names of the lock services that it can start.
	Services []string
	// Programs and Images report whether it runs programs of servers, and images of them.
	Programs, Images bool
}

// ToFetch is the error of a world that needs a fetch and may not do it.
type ToFetch struct{ What string }

func (e *ToFetch) Error() string {
	return "it would have to fetch " + e.What + " from its registry first; `lockbench doctor --images` does"
}

// Limit is a maximum number, and its reason. Max 0: no limit.
type Limit struct {
	Max int
	Why string
}

// Met describes a user's guest by its hello, before any server is started for it.
type Met struct {
	guest.Hello
	// AsksLibc reports that it is a program that asks the C library for the time, as Python, Node and Java do,
	// and Go does not.
	AsksLibc bool
}

// Spec describes the cluster of a run.
type Spec struct {
	Service  *service.Service // nil: the lock needs no server
	Topology service.Topology
	Settings map[string]string // of the servers, by the names of the service
	Clients  int               // maximum number of open clients
	LogDir   string            // for logs of servers and guests
	Seed     uint64            // of the run, for the simulation
	Clocks   bool              // the servers' clocks will be shifted
	Unsynced bool              // servers will lose their power, so their disks must forget what was not synced
	// ClientClocks requests shiftable clocks of clients. AsksLibc reports that the clients are programs for which
	// a real world can do that: see [Met].
	ClientClocks, AsksLibc bool
	// Modules reports that the clients are WASM modules, which have their own clocks and timers. WritesTime
	// reports that the lock writes its client's wall clock where others read it.
	Modules, WritesTime bool
}

// Cluster is a running lock service, its clients, and the network between them. Faults act on it.
type Cluster interface {
	service.Group // the servers

	// Open starts a client.
	Open(ctx context.Context, c ClientSpec) (Client, error)

	// Kill kills a node and returns when it is gone.
	Kill(ctx context.Context, node string) error
	// Start starts a killed node at its address, with or without its data on disk, and returns
	// when it answers.
	Start(ctx context.Context, node string, keepData bool) error
	// LosePower makes a killed node lose what it has not synced to its disk, if [Spec.Unsynced] is set, and returns in
	// words what that was. Names says whether names of files that were not synced with their folder are lost, too. It fails
	// unless synced data is kept and unsynced data is lost.
	LosePower(ctx context.Context, node string, names Names) (lost string, err error)
	PauseNode(ctx context.Context, node string) error
	ResumeNode(ctx context.Context, node string) error

	// Ping pings a node on the path of from's connections, with at least load bytes in both
	// directions, and waits for the answer until ctx ends.
	Ping(ctx context.Context, from, to string, load int) error

	// SetLinks sets what happens on each of the links from now on, in place of what happened before. Data that was held or
	// delayed, and no longer is, arrives in order.
	SetLinks(ctx context.Context, links []Link, s LinkState) error
	// Reset closes all connections between the ends of the links, in both directions, drops the
	// data in flight and returns the number of connections, like a router that loses its state.
	// Clients can dial again at once.
	Reset(ctx context.Context, links []Link) (int, error)

	// ShiftClock sets the offset of a node's wall clock, and the seconds that it gains in every
	// second, if [Spec.Clocks] is set. Zeros set it right. The machine's own clock is never changed.
	ShiftClock(ctx context.Context, node string, by time.Duration, drift float64) error
	// ShiftClientClock shifts all clocks and timers of a module, or the time that a lock in a
	// goroutine writes for others ([locks.Client.Now]), or the wall clock of a program, if
	// [Spec.ClientClocks] is set. ClientClockOffset returns the offset.
	ShiftClientClock(client int, by time.Duration, drift float64) error
	ClientClockOffset(client int) (time.Duration, error)

	// Requests returns the requests of a client to all nodes.
	Requests(client string) Requests
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
	Args    []string // of the module, after its name
	Opener  locks.Opener
	// OwnScripts permits Lua scripts whose behaviour was not compared with that of a real
	// server. The simulation runs such a script and rejects commands that it does not know.
	OwnScripts bool
	// OpenLimit is how long the client may take to answer open; 0 means guest.OpenLimit.
	OpenLimit time.Duration
	// KeyPrefix begins the names of its keys at the servers. A world sets it.
	KeyPrefix string
	// Mask masks secrets in the client's texts. A world sets it. Nil: there are none.
	Mask *secret.Mask
	// Log receives messages about the client outside the protocol, and Lost the library's notices that a
	// session's lock is lost. Either may be nil.
	Log  func(line string)
	Lost func(session string)
	// Warn receives, once for each kind of line outside the protocol, what is wrong with it. Nil: Log receives it.
	Warn func(text string)
	// Queued is called when a session's acquire is in the lock's queue. It may be nil.
	Queued func(session string)
}

// ConnOptions returns the options of the connection to the client.
func (s ClientSpec) ConnOptions() guest.ConnOptions {
	return guest.ConnOptions{Noise: s.Log, Warn: s.Warn, Lost: s.Lost, Queued: s.Queued, KeyPrefix: s.KeyPrefix, Mask: s.Mask, OpenLimit: s.OpenLimit}
}

// Client is one lock client.
type Client interface {
	// Conn returns the connection to the client.
	Conn() *guest.Conn
	// Pause stops the client, including its timers, and returns when it is stopped.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Kill kills the client. It sends nothing more.
	Kill(ctx context.Context) error
	// Close closes the client. It may have been killed before.
	Close(ctx context.Context) error
}

// Link is a direction between two ends: nodes or clients, by their names.
type Link struct{ From, To string }

func (l Link) String() string { return l.From + " -> " + l.To }

// LinkState is what happens on a link. The zero value is a link without faults.
type LinkState struct {
	Cut   bool  // everything is held, and new connections hang
	Drop  bool  // everything is dropped; its end closes the connections that lost something
	Delay Delay // of everything
	Rate  int64 // in bytes a second; 0: it is not limited
}

// Delay is the latency of a link: By plus or minus at most Jitter, drawn for each message. Messages
// stay in order.
type Delay struct{ By, Jitter time.Duration }

// ErrClientClock is why the clocks of some clients cannot be shifted: a preloaded library only affects programs
// that ask the C library for the time.
var ErrClientClock error = sparing("a client's clock can be shifted in world sim, and elsewhere that of a guest whose runtime asks the C library for the time (Python, Node, Java): a Go program asks the kernel, past anything that could be preloaded")

// ErrProgramDrift is why the clocks of programs cannot run fast or slow.
var ErrProgramDrift error = sparing("its clients are programs, whose timers are the kernel's and cannot run fast or slow; as a module (wasm:) they can")

// ErrClientDrift is why the clocks of goroutines cannot run fast or slow: their leases and timers would not.
var ErrClientDrift error = sparing("its clients are goroutines, which have no timers of their own that could run fast or slow; as a module (wasm:) they have")

// sparing is the reason why a world cannot inject a fault. It is an [Unsupported], because a verdict without the fault
// would mislead.
type sparing string

func (s sparing) Error() string { return string(s) }
func (s sparing) Unwrap() error { return Unsupported{errors.New(string(s))} }

// Sparing returns the reason why a world cannot inject a fault, if a verdict without the fault would mislead.
func Sparing(why string) error { return sparing(why) }

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
	Unpowered ActionKind = "cut off from power"
	Pausing   ActionKind = "paused"
	Promoting ActionKind = "promoted"
	Isolating ActionKind = "cut off from all other servers"
	Cutting   ActionKind = "cut off from other servers"
	Lagging   ActionKind = "slowed down"
	Throttled ActionKind = "narrowed"
	Dropping  ActionKind = "robbed of replies"
	Resetting ActionKind = "robbed of connections"
)

// Names is what a loss of power does to names of files that were not synced with their folder.
type Names string

// The readings of what fsync of a file promises: nothing about its name, as POSIX says; or names are durable at once.
const (
	NamesLost Names = "lost"
	NamesKept Names = "kept"
)

// Requests are the requests of one client to all nodes.
type Requests interface {
	// Counts counts them, as they are sent, so that retries by client libraries are seen: by name in upper case,
	// including those that set up a connection.
	Counts() map[string]int
	// HoldReply lets the next n requests pass, to any nodes, and holds the reply to the last of them. Requests that set up
	// a connection do not count ([service.Wire.Greetings]).
	HoldReply(n int) Held
	// HoldRequest holds the n-th request itself: the server has not seen it.
	HoldRequest(n int) Held
}

// Held is a request or reply to be held.
type Held interface {
	// Reached is closed when it has arrived, and is held with all that follows on its connection.
	Reached() <-chan struct{}
	// GoOn releases it, or stops waiting for it. It may be called twice, and after Lose.
	GoOn()
	// Lose drops what has arrived, and all that follows on its connection. The connection ends at once, or is
	// silent until the client gives it up.
	Lose(silent bool)
}
