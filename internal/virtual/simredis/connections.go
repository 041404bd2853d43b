package simredis

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"

	"lockbench/internal/virtual/sim"
)

// connections are the connections of a node: as peers to the server, and as lines to the network.
type connections struct {
	peers   sync.Map // *server.Peer to *session
	callers sync.Map // sim.Line to *caller
	dialled atomic.Int64
}

// session is the state of one connection.
type session struct {
	inside   bool       // the hook executes a command itself and is called again for it
	commands [][]string // of a transaction
	multi    bool
	wrote    int64 // the offset after its last write
	control  bool  // it is the control code's, which may send any script
	caller   *caller
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

// accept numbers a connection and returns it with its introduction.
func (c *connections) accept(conn net.Conn, l sim.Line) net.Conn {
	who := &caller{id: int(c.dialled.Add(1))}
	c.callers.Store(l, who)
	return &introduced{
		Conn: conn, first: []byte(proto.Strings(introduction, strconv.Itoa(who.id))), gone: func() { c.callers.Delete(l) },
	}
}

// introduce begins the session of a connection.
func (c *connections) introduce(peer *server.Peer, args []string) {
	s := &session{caller: &caller{}}
	c.callers.Range(func(_, known any) bool {
		if who := known.(*caller); strconv.Itoa(who.id) == args[0] {
			s.caller = who
		}
		return true
	})
	c.peers.Store(peer, s)
	peer.OnDisconnect(func() { c.peers.Delete(peer) })
}

// caller returns the caller at a line, or nil if the connection is gone.
func (c *connections) caller(l sim.Line) *caller {
	found, _ := c.callers.Load(l)
	known, _ := found.(*caller)
	return known
}

// session returns the session of a connection, or nil for its introduction and for a command of a script.
func (c *connections) session(peer *server.Peer) *session {
	s, _ := c.peers.Load(peer)
	known, _ := s.(*session)
	return known
}

// tracker is a connection with tracking.
type tracker struct {
	peer *server.Peer
	*session
}

// trackers returns all trackers in the order of their numbers.
func (c *connections) trackers() (all []tracker) {
	c.peers.Range(func(p, of any) bool {
		s := of.(*session)
		if s.caller != nil {
			if t, _ := s.caller.tracks(); t.on {
				all = append(all, tracker{p.(*server.Peer), s})
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b tracker) int { return cmp.Compare(a.caller.id, b.caller.id) })
	return all
}
