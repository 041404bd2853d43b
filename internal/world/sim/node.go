package sim

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/internal/world"
)

// node is one server: a Redis that holds data, or a sentinel.
//
//	down ⇄ up ⇄ stopped (its lanes stand still)
type node struct {
	world.Node
	cluster  *cluster
	index    int
	addr     string
	sentinel *sentinel // of a watchman

	up       atomic.Bool
	readonly atomic.Bool // a replica, to those who write
	redis    atomic.Pointer[miniredis.Miniredis]

	// exec is held while one command runs, with everything that comes of it. Nothing
	// waits under it: commands that wait for others run without.
	exec    sync.Mutex
	dirty   []string              // keys that the running command has written
	scripts map[string]shortcut   // by digest, as the server knows them
	peers   sync.Map              // *server.Peer to *session: connections
	wrong   atomic.Pointer[wrong] // of its clock; nil: never touched
	kept    []entry               // what it has on disk while it is down

	replication // guarded by cluster.mu
}

// session is what a node knows of one connection.
type session struct {
	inside bool     // the hook runs a command itself, and is called for it once more
	queued []string // keys of the writes that wait for EXEC
	multi  bool
	wrote  int64 // the offset after its last write
}

func (c *cluster) newNode(n world.Node, index int) *node {
	node := &node{Node: n, cluster: c, index: index}
	if n.Kind == world.Watchman {
		node.addr = fmt.Sprintf("10.0.1.%d:26379", index+1)
		node.sentinel = newSentinel(node)
	} else {
		node.addr = fmt.Sprintf("10.0.0.%d:6379", index+1)
	}
	return node
}

// alive says whether the node's process is there, stopped or not.
func (n *node) alive() bool { return n.up.Load() }

// running says whether it does anything.
func (n *node) running() bool { return n.alive() && n.cluster.net.stopped(n.Name) == nil }

// boot starts the node with the data that it has.
func (n *node) boot(data []entry) {
	if n.Kind == world.Data {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		// The server starts with its first connection, which nobody uses.
		first, err := m.Dial()
		if err != nil {
			panic(err) // cannot be: nothing is listened on
		}
		_ = first.Close()
		m.Server().SetPreHook(n.hook)
		n.exec.Lock()
		n.dirty, n.scripts = nil, map[string]shortcut{}
		n.setClock(m)
		n.exec.Unlock()
		n.redis.Store(m)
		n.load(data)
	}
	n.cluster.mu.Lock()
	n.begin()
	n.cluster.mu.Unlock()
	n.up.Store(true)
}

// shut ends the node's process.
func (n *node) shut() {
	if !n.up.Swap(false) {
		return
	}
	c := n.cluster
	c.net.forget(n.Name)
	c.mu.Lock()
	for _, r := range c.of(world.Data) {
		if n.replicas[r.Name] != nil {
			c.tell(n, r, brokenOff{n.life})
		}
	}
	c.mu.Unlock()
	for _, p := range c.net.pairsWith(func(at slot) bool { return at.node == n.Name }) {
		p.crash()
	}
	if m := n.redis.Swap(nil); m != nil {
		n.kept = nil
		if c.settings.keeps {
			n.setClock(m)
			n.kept = dump(m, m.DB(0).Keys(), n.now())
		}
		m.Close()
	}
}

// serve takes a connection.
func (n *node) serve(c *conn) {
	m := n.redis.Load()
	if m == nil {
		c.pair.breakOff()
		return
	}
	m.Server().ServeConn(c)
}

// now is the time by the node's own clock.
func (n *node) now() time.Time {
	now := time.Now()
	return now.Add(n.wrong.Load().at(now))
}

// setClock tells the server its own time before a command. Needs exec.
func (n *node) setClock(m *miniredis.Miniredis) {
	if n.wrong.Load() != nil {
		m.SetTime(n.now())
	}
}
