package simredis

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"

	"lockbench/internal/service"
	"lockbench/internal/virtual/sim"
)

// seat is the common part of data nodes and sentinels.
type seat struct {
	service.Node
	cluster *cluster
	index   int
	addr    string
	clock   sim.Clock
}

// alive reports whether the server's process exists, stopped or not.
func (s *seat) alive() bool { return s.cluster.host.Alive(s.index) }

// running reports whether the process exists and is not stopped.
func (s *seat) running() bool { return s.cluster.host.Running(s.index) }

// tell sends a message from one server to another.
func (s *seat) tell(to *seat, talk any) { s.cluster.host.Send(s.index, to.index, talk) }

// ShiftClock shifts the server's clock.
func (s *seat) ShiftClock(by time.Duration, drift float64) { s.clock.Shift(by, drift) }

// node is a server with data.
type node struct {
	seat

	readonly atomic.Bool // it is a replica and refuses writes
	redis    atomic.Pointer[miniredis.Miniredis]

	// exec is held during a command and its effects. Commands that wait for other clients run without it.
	exec    sync.Mutex
	dirty   []string            // keys that the running command has written
	scripts map[string]shortcut // the scripts that the server knows, by digest
	peers   sync.Map            // *server.Peer to *session: connections
	callers sync.Map            // sim.Line to *caller: the same, to the network
	dialled atomic.Int64        // the number of connections so far
	kept    []entry             // the data on disk while it is down
	disk    disk                // what a loss of power leaves

	cached      atomic.Bool // some connection has sent CLIENT TRACKING ON
	readers     readers     // guarded by exec
	replication             // guarded by cluster.mu
}

var (
	_ sim.Server   = (*node)(nil)
	_ sim.Streamer = (*node)(nil)
)

// session is the state of one connection.
type session struct {
	inside   bool       // the hook executes a command itself and is called again for it
	commands [][]string // of a transaction
	multi    bool
	wrote    int64 // the offset after its last write
	control  bool  // it is the control code's, which may send any script
	caller   *caller
}

// Start starts the node with its data.
func (n *node) Start(keepData bool) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	// The server starts with its first connection, which stays unused.
	first, err := m.Dial()
	if err != nil {
		panic(err) // impossible, because nothing listens
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
	n.began(m)
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	n.life++
	n.replicas, n.waiting, n.online, n.priority = map[string]*replica{}, make(chan struct{}), false, 100
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
	if n.following != "" {
		n.tell(&c.node(n.following).seat, brokenOff{n.life})
	}
	c.mu.Unlock()
	if m := n.redis.Swap(nil); m != nil {
		n.kept = nil
		if c.settings.keeps {
			n.flush(m)
			n.kept = n.everything(m)
		}
		m.Close()
	}
}

// Resumed is called at the end of a pause. The node does not know of a promotion by hand during the pause.
func (n *node) Resumed() {
	c := n.cluster
	c.mu.Lock()
	service := c.service
	c.mu.Unlock()
	if service != nil && service != n {
		n.demote(service.Name)
	}
}

// Serve serves a connection.
func (n *node) Serve(c net.Conn, l sim.Line) {
	m := n.redis.Load()
	if m == nil {
		_ = c.Close()
		return
	}
	who := &caller{id: int(n.dialled.Add(1))}
	n.callers.Store(l, who)
	m.Server().ServeConn(&introduced{
		Conn: c, first: []byte(proto.Strings(introduction, strconv.Itoa(who.id))), gone: func() { n.callers.Delete(l) },
	})
}

// introduction is the first command on every connection. The simulation sends it, so that the hook can map the peer to
// its connection.
const introduction = "LOCKBENCH-INTRODUCTION"

// introduced is a connection whose first command is its introduction.
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

// introduce begins the session of a connection.
func (n *node) introduce(p *server.Peer, args []string) {
	s := &session{caller: &caller{}}
	n.callers.Range(func(_, known any) bool {
		if c := known.(*caller); strconv.Itoa(c.id) == args[0] {
			s.caller = c
		}
		return true
	})
	n.peers.Store(p, s)
	p.OnDisconnect(func() { n.peers.Delete(p) })
}

// standing returns the state of the node for greetings.
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

// setClock sets the server's time before a command. The caller must hold exec.
func (n *node) setClock(m *miniredis.Miniredis) {
	if n.clock.Touched() {
		m.SetTime(n.clock.Now())
	}
}
