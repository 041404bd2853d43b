package simredis

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/internal/world/sim"
	"lockbench/service"
)

// seat is what data nodes and sentinels have in common: a place in the cluster.
type seat struct {
	service.Node
	cluster *cluster
	index   int
	addr    string
	clock   sim.Clock
}

// alive says whether the server's process is there, stopped or not.
func (s *seat) alive() bool { return s.cluster.host.Alive(s.index) }

// running says whether it does anything.
func (s *seat) running() bool { return s.cluster.host.Running(s.index) }

// tell sends something from one server to another.
func (s *seat) tell(to *seat, talk any) { s.cluster.host.Send(s.index, to.index, talk) }

// ShiftClock lets the server's clock be wrong.
func (s *seat) ShiftClock(by time.Duration, drift float64) { s.clock.Shift(by, drift) }

// node is one server that holds data.
type node struct {
	seat

	readonly atomic.Bool // a replica, to those who write
	redis    atomic.Pointer[miniredis.Miniredis]

	// exec is held while one command runs, with everything that comes of it. Nothing
	// waits under it: commands that wait for others run without.
	exec    sync.Mutex
	dirty   []string            // keys that the running command has written
	scripts map[string]shortcut // by digest, as the server knows them
	peers   sync.Map            // *server.Peer to *session: connections
	callers sync.Map            // sim.Line to *caller: the same, to the network
	dialled atomic.Int64        // how many there were
	kept    []entry             // what it has on disk while it is down

	cached      atomic.Bool // some connection has said CLIENT TRACKING ON
	readers     readers     // guarded by exec
	replication             // guarded by cluster.mu
}

var (
	_ sim.Server   = (*node)(nil)
	_ sim.Streamer = (*node)(nil)
)

// session is what a node knows of one connection.
type session struct {
	inside bool     // the hook runs a command itself, and is called for it once more
	queued []string // keys of the writes that wait for EXEC
	// commands are all that wait for EXEC.
	commands [][]string
	multi    bool
	wrote    int64 // the offset after its last write
	caller   *caller
	known    bool // the caller is that of the connection
	// met is that caller for the goroutines of other connections.
	met atomic.Pointer[caller]
}

// Start starts the node with the data that it has.
func (n *node) Start(keepData bool) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	// The server starts with its first connection, which stays unused.
	first, err := m.Dial()
	if err != nil {
		panic(err) // cannot be: nothing is listened on
	}
	_ = first.Close()
	m.Server().SetPreHook(n.hook)
	n.exec.Lock()
	n.dirty, n.scripts, n.readers = nil, map[string]shortcut{}, newReaders()
	n.setClock(m)
	n.exec.Unlock()
	n.cached.Store(false)
	n.redis.Store(m)
	if keepData {
		n.load(n.kept)
	}
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	n.begin()
	if c.service != nil && n != c.service {
		n.following = c.service.Name
	}
	if n.following != "" {
		n.readonly.Store(true)
		n.ask()
	}
}

// End ends the node's process.
func (n *node) End() {
	c := n.cluster
	c.mu.Lock()
	n.spread(brokenOff{n.life})
	c.mu.Unlock()
	if m := n.redis.Swap(nil); m != nil {
		n.kept = nil
		if c.settings.keeps {
			n.setClock(m)
			n.kept = dump(m, m.DB(0).Keys(), n.clock.Now())
		}
		m.Close()
	}
}

// Resumed is the end of a pause. If another was promoted by hand meanwhile, this one has
// not heard of it.
func (n *node) Resumed() {
	c := n.cluster
	c.mu.Lock()
	service := c.service
	c.mu.Unlock()
	if service != nil && service != n {
		n.demote(service.Name)
	}
}

// Serve takes a connection.
func (n *node) Serve(c net.Conn, l sim.Line) {
	m := n.redis.Load()
	if m == nil {
		_ = c.Close()
		return
	}
	who := &caller{id: int(n.dialled.Add(1))}
	n.callers.Store(l, who)
	m.Server().ServeConn(&introduced{
		Conn: c, first: []byte(bulks(introduction, strconv.Itoa(who.id))), gone: func() { n.callers.Delete(l) },
	})
}

// introduction is the first command on every connection. No client sends it: it tells the
// hook, which knows peers alone, whose connection it is.
const introduction = "LOCKBENCH-INTRODUCTION"

// introduced is a connection that begins with its introduction.
type introduced struct {
	net.Conn
	first []byte
	gone  func()
}

func (c *introduced) Read(b []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
}

func (c *introduced) Close() error {
	c.gone()
	return c.Conn.Close()
}

// introduce finds the caller of a connection.
func (n *node) introduce(s *session, args []string) {
	n.callers.Range(func(_, known any) bool {
		c := known.(*caller)
		if len(args) == 1 && strconv.Itoa(c.id) == args[0] {
			s.caller, s.known = c, true
			s.met.Store(c)
		}
		return !s.known
	})
}

// standing is what it says of itself.
func (n *node) standing() standing {
	if n.readonly.Load() {
		return standing{mode: "standalone", role: "replica"}
	}
	return standing{mode: "standalone", role: "master"}
}

// ShiftClock makes the node's clock wrong. Keys end by that clock: a jump ahead ends them sooner, a
// jump back later, as on a server that stores the time at which a key ends. miniredis stores the
// remaining time, so a jump back must be added to it.
func (n *node) ShiftClock(by time.Duration, drift float64) {
	n.exec.Lock()
	defer n.exec.Unlock()
	m := n.redis.Load()
	if m != nil {
		n.setClock(m)
	}
	jump := by - n.clock.Offset()
	n.clock.Shift(by, drift)
	if m == nil {
		return
	}
	n.setClock(m)
	if jump >= 0 {
		return
	}
	for _, key := range m.DB(0).Keys() {
		if ttl := m.DB(0).TTL(key); ttl > 0 {
			m.DB(0).SetTTL(key, ttl-jump)
		}
	}
}

// setClock tells the server its own time before a command. Needs exec.
func (n *node) setClock(m *miniredis.Miniredis) {
	if n.clock.Touched() {
		m.SetTime(n.clock.Now())
	}
}
