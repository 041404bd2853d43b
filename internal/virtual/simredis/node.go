package simredis

import (
	"net"
	"sync/atomic"
	"time"

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

// node is a server with data: what stays when its process ends, and the process.
type node struct {
	seat
	connections connections
	role        replication
	disk        disk
	process     atomic.Pointer[process] // nil while it is down
}

var (
	_ sim.Server   = (*node)(nil)
	_ sim.Streamer = (*node)(nil)
)

// Start starts the node with its data.
func (n *node) Start(keepData bool) {
	p := newProcess(n)
	if keepData {
		p.keys.load(n.disk.kept)
	}
	n.disk.began(p.keys)
	n.process.Store(p)
	n.role.begin()
}

// End ends the node's process.
func (n *node) End() {
	n.role.end()
	if p := n.process.Swap(nil); p != nil {
		n.disk.ended(p.keys)
		p.keys.redis.Close()
	}
}

// LosePower forgets what was not flushed.
func (n *node) LosePower() string { return n.disk.losePower() }

// Resumed is called at the end of a pause. The node does not know of a promotion by hand during the pause.
func (n *node) Resumed() {
	c := n.cluster
	c.mu.Lock()
	service := c.service
	c.mu.Unlock()
	if service != nil && service != n {
		n.role.demote(service.Name)
	}
}

// Serve serves a connection.
func (n *node) Serve(c net.Conn, l sim.Line) {
	p := n.process.Load()
	if p == nil {
		_ = c.Close()
		return
	}
	p.keys.redis.Server().ServeConn(n.connections.accept(c, l))
}

// AtOnce answers the greetings with which a client sets up a connection. Libraries hold a mutex while they wait for the
// answers.
func (n *node) AtOnce(l sim.Line, written []byte) (reply []byte, done bool) {
	c := n.connections.caller(l)
	if c == nil {
		return nil, false
	}
	asked, whole := parseCommands(written)
	if said, done := c.atOnce(serverTable(), n.standing(), asked, whole); done {
		if p := n.process.Load(); p != nil {
			p.readers.note(c)
		}
		return []byte(said), true
	}
	c.missing(serverTable(), asked)
	return nil, false
}

// standing returns the state of the node for greetings.
func (n *node) standing() standing {
	if n.role.readonly.Load() {
		return standing{mode: "standalone", role: "replica"}
	}
	return standing{mode: "standalone", role: "master"}
}

// Ticks returns the period of Tick.
func (n *node) Ticks() (least, most time.Duration) {
	if !n.cluster.replicates() {
		return 0, 0
	}
	return replicationTick, replicationTick
}

// Tick is called once a second.
func (n *node) Tick() { n.role.tick() }

// Hear handles a message from another server.
func (n *node) Hear(who int, talk any) {
	from := n.cluster.seats[who]
	switch talk := talk.(type) {
	case ping:
		n.tell(from, n.role.sighting())
	case askWhole:
		n.during(func(p *process) { // no command may come between the copy and the offset
			n.role.give(from, p.keys.everything())
		})
	case whole:
		if n.role.takesWhole(from, talk) {
			n.during(func(p *process) { p.copied(true, talk.all) })
		}
	case part:
		if n.role.takesPart(from, talk) {
			n.during(func(p *process) {
				p.copied(false, talk.entries)
				if len(talk.published) == 2 {
					p.keys.redis.Publish(talk.published[0], talk.published[1])
				}
			})
		}
	case doneTo:
		n.role.acked(from, talk)
	case brokenOff:
		n.role.broken(from, talk)
	case order:
		if talk.follow == "" {
			n.role.promote()
		} else {
			n.role.demote(talk.follow)
		}
	}
}

// during calls a function between two commands if the process exists.
func (n *node) during(do func(p *process)) (alive bool) {
	p := n.process.Load()
	if p == nil {
		return false
	}
	p.exec.Lock()
	defer p.exec.Unlock()
	if n.process.Load() != p {
		return false
	}
	do(p)
	return true
}

// ShiftClock makes the node's clock wrong. Keys end by that clock.
func (n *node) ShiftClock(by time.Duration, drift float64) {
	if !n.during(func(p *process) { p.keys.shiftClock(by, drift) }) {
		n.clock.Shift(by, drift)
	}
}
