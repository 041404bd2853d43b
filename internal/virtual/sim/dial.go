package sim

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

// places is the number of connections of one client to one node, for each purpose, that can be open
// before two of them share their classes.
var places = [...]int{Operation: 5, Subscription: 2, Lookout: 1}

// The classes of a client's connections to one node:
//
//	0  - 23   sent by the client        24 - 47   received by the client
//	48 - 63   deadlines, two for each connection
//	64 - 95   dials that hang
const (
	placesAll    = 8 // the sum of places
	messageWidth = 24
	deadlinesAt  = 2 * messageWidth
	attemptsAt   = deadlinesAt + 2*placesAll
	// attemptsMax is the number of dials of one client to one node that can hang before two of them
	// continue in one instant. A client that gives up after 50 ms has ten until the first one times out.
	attemptsMax = 32
	classesEach = attemptsAt + attemptsMax
)

// dial opens a connection of a client.
//
// Libraries hold mutexes while they set up a connection, ask a directory for a server's address, or
// renew subscriptions, while other goroutines of the client queue at the mutex. In virtual time such
// a queue stops the clock while the holder waits for the network. So nothing that a library does
// under a mutex waits here:
//
//   - a reachable node accepts at once, and answers a greeting in the instant in which it arrives
//     ([Server.AtOnce]);
//   - a reachable directory answers every question at once, and an unreachable one refuses dials and
//     questions at once;
//   - a subscription's dial to an unreachable node fails at once, where an ordinary one waits for its
//     timeout.
//
// So a client needs a few round trips less than in reality. If a client queries several directories
// in one instant, only the first reachable one answers, because their answers would race. Each client
// has its own order of the directories.
func (cl *client) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	c := cl.cluster
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", addr, err)}
	}
	n, err := c.at(addr)
	if err != nil {
		return fail(err)
	}
	if n.directory != nil {
		if cl.directory() != n {
			// Without an address: a library may join the texts of all errors in the order in
			// which its goroutines happened to run.
			return nil, errNoDirectory
		}
		return n.connect(slot{client: cl.name, node: n.Name, purpose: c.net.purposeOfDial()}, addr), nil
	}
	// A dial ends in its own instant. If several dials hang at a cut link, all of them continue when
	// the cut ends, and the first one decides which connection its pool takes next. Also, a
	// lookout that finds the server back makes its pool dial again in the instant in which the pool
	// may be used.
	at := slot{client: cl.name, node: n.Name, purpose: c.net.purposeOfDial()}
	own := n.attempt(at)
	for {
		if cl.isDead() { // at once: a kill waits for the end of the client
			return fail(net.ErrClosed)
		}
		if at.purpose != Subscription {
			settle(own)
			if n, err = c.at(addr); err != nil {
				return fail(err)
			}
			at.node = n.Name
		}
		if cl.isDead() {
			return fail(net.ErrClosed)
		}
		stopped := c.net.stopped(cl.name)
		open, change := c.net.open(cl.name, n.Name)
		switch {
		case stopped == nil && open && !n.alive():
			return fail(errRefused)
		case stopped == nil && open:
			return n.connect(at, addr), nil
		case at.purpose == Subscription:
			return fail(errUnreachable)
		case stopped != nil:
			change = nil // a stopped client does not notice changes
		}
		select {
		case <-change:
		case <-stopped:
		case <-ctx.Done():
			settle(own)
			return fail(context.Cause(ctx))
		case <-cl.dead:
			return fail(net.ErrClosed)
		}
	}
}

// directory returns the directory that answers this client now, or nil if none is reachable.
func (cl *client) directory() *node {
	c := cl.cluster
	if c.net.stopped(cl.name) != nil {
		return nil
	}
	var all []*node
	for _, n := range c.nodes {
		if n.directory != nil {
			all = append(all, n)
		}
	}
	for i := range all {
		n := all[(i+cl.id)%len(all)]
		if open, _ := c.net.open(cl.name, n.Name); open && n.running() {
			return n
		}
	}
	return nil
}

// purposeOfDial reads the stack of its caller.
func (n *network) purposeOfDial() Purpose {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if purpose, ok := n.purpose(f.Function); ok {
			return purpose
		}
		if !more {
			return Operation
		}
	}
}

// errNoDirectory is the error of a directory that does not answer the client.
var errNoDirectory = &net.OpError{Op: "dial", Net: "tcp", Err: errUnreachable}

// attempt numbers a dial and gives it a class.
func (n *node) attempt(at slot) class {
	net := n.cluster.net
	net.mu.Lock()
	defer net.mu.Unlock()
	// Lookouts have the odd classes, so that they never meet other dials.
	net.attempts[at]++
	number := 2 * net.attempts[at] % attemptsMax
	if at.purpose == Lookout {
		number++
	}
	return n.classesOf(at.client) + class(attemptsAt+number)
}

// connect makes a connection to the node and gives the node its end.
func (n *node) connect(at slot, addr string) *conn {
	c := n.cluster
	client := at.client
	link := world.Link{From: client, To: n.Name}
	c.net.mu.Lock()
	c.net.dials[at]++
	dial := c.net.dials[at]
	for c.net.inUse[at] && at.n < places[at.purpose]-1 {
		at.n++
	}
	c.net.inUse[at] = true
	c.net.mu.Unlock()

	p := &pair{net: c.net, at: at, server: n}
	first := n.classesOf(client)
	late := first + deadlinesAt + class(2*at.n)
	for _, before := range places[:at.purpose] {
		late += class(2 * before)
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 1, byte(dial>>8), byte(dial)), Port: 40000 + dial%20000}
	remote := tcpAddr(addr)
	id := client + "/" + n.Name
	p.near = newConn(p, client, late, local, remote)
	streamer, reads := n.server.(Streamer)
	up := func(m parcel) { p.asked(n, m) }
	if reads {
		p.far = newConn(p, n.Name, late+1, remote, local)
		p.hears = service.NewRequestWriter(c.net.wire, p.heard)
		up = func(m parcel) {
			p.arrives(m)
			p.far.receive(m)
		}
	}
	p.up = c.net.newLane(link, id+"/up", first, messageWidth, up)
	p.down = c.net.newLane(world.Link{From: n.Name, To: client}, id+"/down", first+messageWidth, messageWidth, p.near.receive)
	p.near.out = p.up
	c.net.mu.Lock()
	c.net.pairs[p] = struct{}{}
	c.net.mu.Unlock()
	p.near.says = service.NewRequestWriter(c.net.wire, func(name []byte) { c.net.count(client, string(name)) })
	p.near.answers = func(written []byte) ([]byte, bool) { return n.server.AtOnce(p, written) }
	if reads {
		p.far.out = p.down
		streamer.Serve(p.far, p)
	}
	return p.near
}

// asked is called when the query of a client arrives at a directory.
func (p *pair) asked(n *node, m parcel) {
	switch {
	case m.fin:
		n.directory.Left(p)
	case n.alive():
		n.directory.Asked(p, m.data)
	}
}

// count counts the requests of a client.
func (n *network) count(client, request string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	counts := n.counts[client]
	if counts == nil {
		counts = map[string]int{}
		n.counts[client] = counts
	}
	counts[request]++
}

// classesOf returns the first of the classes of a client's connections to the node.
func (n *node) classesOf(client string) class {
	id, _ := history.ParseParty(client).Client() // only clients dial
	room := (classEnd - classConnections) / classesEach
	return class(classConnections + classesEach*((int(id)*len(n.cluster.nodes)+n.index)%room))
}
