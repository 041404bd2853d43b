// Package world is the seam between lockbench and the places in which locks can
// be tried: containers, child processes of this machine, a simulation.
//
// A [World] runs a body with a [Cluster]: a lock service of one topology and the
// means to open clients on it. What else a cluster can do to its nodes and links
// it says by implementing the optional interfaces below ([NodeKiller],
// [LinkCutter], ...), which faults find by type assertion.
package world

import (
	"context"
	"errors"
	"strconv"
	"time"

	"lockbench/internal/guest"
	"lockbench/locks"
)

// World is a place in which a lock can be tried.
type World interface {
	Name() string
	// Ready says why the world cannot be used on this machine, and what would help.
	Ready(ctx context.Context) error
	// About is the few words that the screen shows beside the name, such as the
	// version of the server; only after Ready has said nil.
	About() string
	// Sketch is what Run would start, not started: the nodes and what could be done
	// to them, for plans that are drawn before anything runs.
	Sketch(s Spec) Cluster
	// Run starts a cluster, calls body with it, and tears everything down, also
	// when body fails, panics or is cancelled. A virtual-time world encloses body.
	Run(ctx context.Context, s Spec, body func(context.Context, Cluster) error) error
}

// Host is a world that can start a guest of somebody's own by itself, to ask it who
// it is before anything is started for it.
type Host interface {
	Meet(ctx context.Context, c ClientSpec) (guest.Hello, error)
}

// Spec is the cluster that a run asks for.
type Spec struct {
	Topology locks.Topology
	Masters  int               // of the topology independent; 0 means 5
	Settings map[string]string // server settings, as in redis.conf
	Clients  int               // how many clients may be open at once
	LogDir   string            // logs of servers and guests go here
	Seed     uint64            // of the run, for worlds in which chance is simulated
	Clocks   bool              // the servers' clocks will be shifted
}

// Cluster is a running lock service.
type Cluster interface {
	// Nodes are all servers, sentinels included; empty for locks without servers.
	Nodes() []Node
	// Topology is what the nodes form.
	Topology() locks.Topology
	// Master names the node that is the master now, as the service itself sees it.
	// Independent masters have none.
	Master(ctx context.Context) (string, error)
	// Masters names every node that takes itself for a master, asked directly.
	// A node that does not answer is left out.
	Masters(ctx context.Context) []string
	// Healthy returns nil once every node answers, one master is agreed on and all
	// replicas follow it; else what is missing. Asked directly, past all faults.
	Healthy(ctx context.Context) error
	// Open starts a client.
	Open(ctx context.Context, c ClientSpec) (Client, error)
}

// Node is one server of a cluster.
type Node struct {
	Name string // "redis-1", "sentinel-2"
	Kind Kind
}

// Kind is what a node is for.
type Kind string

// The kinds of nodes.
const (
	Data     Kind = "data"
	Watchman Kind = "sentinel"
)

// ClientSpec is a client to be opened.
type ClientSpec struct {
	ID      int // never used twice in one cluster
	Lock    string
	Options map[string]string
	Seed    uint64
	// Exactly one of these says how the lock runs: Command is a guest of somebody's
	// own; Opener runs inside this process; neither: `lockbench guest Lock`.
	Command string
	Opener  locks.Opener
	// Log hears what the client's end has to say outside the protocol, and Lost the
	// library's notices that a session's lock is lost. Either may be nil.
	Log  func(line string)
	Lost func(session string)
	// Queued hears that a session's acquire stands in the lock's queue. It may be nil.
	Queued func(session string)
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

// ClientName is how links name a client.
func ClientName(id int) string { return "client-" + strconv.Itoa(id) }

// Link is a directed way between two ends: node names or ClientName(id).
type Link struct{ From, To string }

func (l Link) String() string { return l.From + " -> " + l.To }

// ErrUnsupportedHere is a lock that a world cannot try without sparing it some
// fault: its row says so, and no verdict is given.
var ErrUnsupportedHere = errors.New("unsupported here")

// NodeKiller is a cluster that can kill nodes.
type NodeKiller interface {
	// Kill ends a node at once and returns when it is gone.
	Kill(ctx context.Context, node string) error
	// Start brings a killed node back on its address, with or without the data it
	// had on disk, and returns when it answers.
	Start(ctx context.Context, node string, keepData bool) error
}

// NodePauser is a cluster that can stop and continue nodes.
type NodePauser interface {
	PauseNode(ctx context.Context, node string) error
	ResumeNode(ctx context.Context, node string) error
}

// LinkCutter is a cluster that can cut directed links: what is sent is held until
// the link is joined again, and new connections hang.
type LinkCutter interface {
	Cut(ctx context.Context, links []Link) error
	Join(ctx context.Context, links []Link) error
}

// LinkShaper is a cluster that can slow directed links down.
type LinkShaper interface {
	// Shape delays what travels on the links; Unshape takes that away again.
	Shape(ctx context.Context, links []Link, delay Delay) error
	Unshape(ctx context.Context, links []Link) error
}

// Delay is how late what travels on a link arrives: By, give or take Jitter, which is
// drawn for each message anew. Nothing overtakes what was sent before it.
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

// ReplyDropper is a cluster that can lose what a node answers to a client: the
// server does what it was asked, and the client never hears.
type ReplyDropper interface {
	// DropReplies loses everything that travels on the links until KeepReplies,
	// which also ends the connections that lost something.
	DropReplies(ctx context.Context, links []Link) error
	KeepReplies(ctx context.Context, links []Link) error
}

// ConnResetter is a cluster that can end connections as a router does that forgets them.
type ConnResetter interface {
	// Reset ends all connections between the ends of the links, whoever dialled, with
	// what is on its way, and says how many. New ones can be made at once.
	Reset(ctx context.Context, links []Link) (int, error)
}

// Operator is a cluster whose servers an operator can give orders to: directly, past
// all faults. Each returns when it has seen that the order was carried out.
type Operator interface {
	// Flush makes a node forget everything.
	Flush(ctx context.Context, node string) error
	// Evict makes a node forget all keys that have an end, as one does that has run out
	// of memory and may throw away those.
	Evict(ctx context.Context, node string) error
	// Poison puts a list in the place of a key; Cure takes that list away again.
	Poison(ctx context.Context, node, key string) error
	Cure(ctx context.Context, node, key string) error
	// Busy keeps a node from serving anybody for a while, as a long script does. It
	// returns when that has begun, and nothing ends it sooner.
	Busy(ctx context.Context, node string, d time.Duration) error
	// DropSubscribers ends the connections of all who listen for messages of a node, and
	// says how many.
	DropSubscribers(ctx context.Context, node string) (int, error)
}

// ClockShifter is a cluster whose servers' wall clocks can be shifted, each by itself,
// if [Spec.Clocks] was asked for. The machine's own clock is never touched.
type ClockShifter interface {
	// ClocksReady says why they cannot be.
	ClocksReady() error
	// ShiftClock lets a node's clock be wrong by so much, and from now on gain drift
	// seconds in every second. Zeros put it right.
	ShiftClock(ctx context.Context, node string, by time.Duration, drift float64) error
	// ClockOffset tells by how much it is wrong now.
	ClockOffset(ctx context.Context, node string) (time.Duration, error)
}

// ErrClientClock is why no real world shifts the clock of a client. What is preloaded
// into a process catches those who ask the C library for the time.
var ErrClientClock = errors.New("a client's clock can be shifted in world sim alone: a Go program asks the kernel for the time, past anything that could be preloaded")

// ClientClockShifter is a cluster whose clients' wall clocks can be shifted, as far as
// their locks look at one: [locks.Client.Now].
type ClientClockShifter interface {
	// ClientClocksReady says why they cannot be.
	ClientClocksReady() error
	// ShiftClientClock and ClientClockOffset are those of [ClockShifter] for a client.
	ShiftClientClock(client int, by time.Duration, drift float64) error
	ClientClockOffset(client int) (time.Duration, error)
}

// Promoter is a cluster whose master can be changed by hand.
type Promoter interface {
	// Promote makes a replica the master (node empty: one that the service picks)
	// and returns when it is.
	Promote(ctx context.Context, node string) (string, error)
}

// Sentinels give a failover up, and tell nobody, when no replica is to their taste or they
// hear too little of each other. So a [Promoter] orders it again, and at last gives up too:
// a run must end in every world.
const (
	OrderEvery    = 5 * time.Second
	FailoverLimit = 45 * time.Second
)

// Sharded is a cluster in which several masters share the keys.
type Sharded interface {
	// MasterOf names the master that has a key now.
	MasterOf(ctx context.Context, key string) (string, error)
	// ReplicasOf names the nodes that follow a master.
	ReplicasOf(ctx context.Context, master string) ([]string, error)
}

// Prober asks a node for a sign of life on the path that one end uses.
type Prober interface {
	// Ping sends PING from one end to a node on the path that from's own connections
	// take, and waits for the answer until ctx ends.
	Ping(ctx context.Context, from, to string) error
	// ReplicationOffsets tells how much each data node has written or applied, asked
	// directly; nodes that do not answer are left out.
	ReplicationOffsets(ctx context.Context) map[string]int64
	// Nudge makes the master write something to its replication stream that touches
	// no key.
	Nudge(ctx context.Context, master string) error
}

// RequestCounter is a cluster that counts what clients send, in the network and so
// past anything a client library may do by itself.
type RequestCounter interface {
	// Requests tells how many commands a client has sent to all nodes, by name in
	// upper case. Handshakes (HELLO, CLIENT, PING, ...) are counted too.
	Requests(client string) map[string]int
}

// RequestHolder is a cluster that can stop a client in the middle of an operation:
// between SETNX and EXPIRE, or between GET and DEL.
type RequestHolder interface {
	// HoldReply lets the next n requests of a client pass, whichever nodes they go to, and
	// keeps the answer to the last of them back. Reached is closed when that answer is
	// there: the server has done what it was asked, and the client does not know. goOn
	// lets the answer pass, or gives up waiting for it; calling it twice is harmless.
	// Greetings (HELLO, CLIENT, ...) and subscriptions do not count.
	HoldReply(client string, n int) (reached <-chan struct{}, goOn func())
}

// Greetings are the commands by which client libraries set up a connection. They are no
// part of what a lock asks for.
var Greetings = []string{"AUTH", "CLIENT", "CLUSTER", "COMMAND", "HELLO", "INFO", "PING", "PSUBSCRIBE", "PUNSUBSCRIBE",
	"READONLY", "ROLE", "SCRIPT", "SELECT", "SENTINEL", "SUBSCRIBE", "UNSUBSCRIBE"}

// Pacer is a cluster in virtual time. There whoever acts in one instant acts in any
// order, and one seed would give two histories; so everybody has instants of their own.
type Pacer interface {
	// Settle returns in the next instant that belongs to the actor alone: "client-3",
	// "step-2", or any other name.
	Settle(actor string)
}

// Enclosing is a world that wants a process of its own for each lock's run.
type Enclosing interface {
	// Enclosure is the command of that process, which is told on its standard input
	// what to run; empty: it may run here.
	Enclosure() []string
}

// Keeper is a cluster whose servers can be asked what they keep, directly and past all
// faults.
type Keeper interface {
	// TTL tells how much longer the one server that keeps a key will do so, and which
	// it is: Forever if it has no end, Gone if there is no such key.
	TTL(ctx context.Context, key string) (ttl time.Duration, node string, err error)
	// Kept lists all keys of all masters, and for how much longer they are kept.
	Kept(ctx context.Context) (map[string]time.Duration, error)
}

// What a Keeper says of keys that do not run out, and of keys that there are not.
const (
	Forever time.Duration = -1
	Gone    time.Duration = -2
)
