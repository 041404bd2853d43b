package sim

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"

	"lockbench/internal/world"
)

// purpose is what a client dials for, as far as its stack tells. Dials of different
// purposes are numbered apart: go-redis looks in the background whether a server is
// back, and renews subscriptions, and where that falls on the same instant as a dial
// for an operation, which of them comes first is a matter of luck.
type purpose int

const (
	operation    purpose = iota // somebody waits for it
	subscription                // go-redis holds its mutex meanwhile
	lookout                     // is the server back?
)

// places are how many connections of one client to one node, for each purpose, can be
// open before two of them share their classes.
var places = [...]int{operation: 5, subscription: 2, lookout: 1}

// The classes of a client's connections to one node:
//
//	0  - 23   what the client says      24 - 47   what it hears
//	48 - 63   deadlines, two for each connection
//	64 - 95   dials that hang
const (
	placesAll    = 8 // the sum of places
	messageWidth = 24
	deadlinesAt  = 2 * messageWidth
	attemptsAt   = deadlinesAt + 2*placesAll
	// attemptsMax is how many dials of one client to one node can hang at a time before
	// two of them go on in one instant. Whoever gives up after 50 ms has ten of them
	// until the first one times out.
	attemptsMax = 32
	classesEach = attemptsAt + attemptsMax
)

// dial opens a connection of a client.
//
// Libraries hold mutexes while they set up a connection: go-redis's failover client
// asks its sentinels so, and its subscriptions are renewed so, while other goroutines
// of the same client queue at the mutex. In virtual time such a queue stops the clock
// as long as the holder waits for the network. So nothing that a library may do under
// a mutex waits here:
//
//   - a node that can be reached accepts at once, and answers a greeting (HELLO) in
//     the instant in which it comes;
//   - so does a sentinel every question, and one that cannot be reached refuses at once,
//     dials and questions alike;
//   - a subscription's dial that finds nobody fails at once, where an ordinary one
//     waits for its time-out.
//
// It costs a client a few round trips less than in life. And of several sentinels that
// are asked in one instant, one answers: the first that can be reached, in an order
// that each client has for itself. Else the answers would race.
func (cl *client) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	c := cl.cluster
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", addr, err)}
	}
	n, err := c.at(addr)
	if err != nil {
		return fail(err)
	}
	if n.Kind == world.Watchman {
		if cl.sentinel() != n {
			// Without an address: go-redis puts the texts of all three together in the
			// order in which its goroutines happened to run.
			return nil, errNoSentinel
		}
		return c.connect(slot{client: cl.name, node: n.Name, purpose: purposeOfDial()}, n, addr), nil
	}
	// A dial ends in an instant of its own. Several that hang at one cut link go on when
	// it is joined, and which of them is connected first decides which connection its
	// pool takes next; and a lookout that finds the server back lets its pool dial again,
	// in the very instant, most likely, in which somebody asks the pool.
	at := slot{client: cl.name, node: n.Name, purpose: purposeOfDial()}
	own := c.attempt(at, n)
	for {
		select {
		case <-cl.dead: // at once: who kills a client waits until it has ended
			return fail(net.ErrClosed)
		default:
		}
		if at.purpose != subscription {
			settle(own)
			if n, err = c.at(addr); err != nil {
				return fail(err)
			}
			at.node = n.Name
		}
		select {
		case <-cl.dead:
			return fail(net.ErrClosed)
		default:
		}
		stopped := c.net.stopped(cl.name)
		open, change := c.net.open(cl.name, n.Name)
		switch {
		case stopped == nil && open && !n.alive():
			return fail(syscall.ECONNREFUSED)
		case stopped == nil && open:
			return c.connect(at, n, addr), nil
		case at.purpose == subscription:
			return fail(syscall.EHOSTUNREACH)
		case stopped != nil:
			change = nil // nothing concerns one that stands still
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

// sentinel is the one that answers this client now; nil if it reaches none.
func (cl *client) sentinel() *node {
	c := cl.cluster
	if c.net.stopped(cl.name) != nil {
		return nil
	}
	all := c.of(world.Watchman)
	for i := range all {
		n := all[(i+cl.id)%len(all)]
		if open, _ := c.net.open(cl.name, n.Name); open && n.running() {
			return n
		}
	}
	return nil
}

// purposeOfDial reads the stack of its caller.
func purposeOfDial() purpose {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		switch {
		case !strings.Contains(f.Function, "go-redis/"):
		case strings.Contains(f.Function, "(*PubSub)"):
			return subscription
		case strings.Contains(f.Function, "(*ConnPool).tryDial"):
			return lookout
		}
		if !more {
			return operation
		}
	}
}

// errNoSentinel is what a client hears of a sentinel that does not answer it.
var errNoSentinel = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}

// attempt numbers a dial and gives it a class.
func (c *cluster) attempt(at slot, n *node) class {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	// Lookouts have the odd ones: they count apart, and must not meet the others.
	c.net.attempts[at]++
	number := 2 * c.net.attempts[at] % attemptsMax
	if at.purpose == lookout {
		number++
	}
	return c.classesOf(at.client, n) + class(attemptsAt+number)
}

// connect makes the connection and gives the node its end.
func (c *cluster) connect(at slot, n *node, addr string) *conn {
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

	p := &pair{net: c.net, at: at}
	first := c.classesOf(client, n)
	late := first + deadlinesAt + class(2*at.n)
	for _, before := range places[:at.purpose] {
		late += class(2 * before)
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 1, byte(dial>>8), byte(dial)), Port: 40000 + dial%20000}
	remote := tcpAddr(addr)
	id := client + "/" + n.Name
	p.near = newConn(p, client, late, local, remote)
	var up func(parcel)
	if n.Kind == world.Data {
		p.far = newConn(p, n.Name, late+1, remote, local)
		up = func(m parcel) {
			c.net.arrives(client, p.near, m)
			p.far.receive(m)
		}
	} else {
		up = func(m parcel) { n.sentinel.hear(p, m) }
	}
	p.up = c.net.newLane(link, id+"/up", first, messageWidth, up)
	p.down = c.net.newLane(world.Link{From: n.Name, To: client}, id+"/down", first+messageWidth, messageWidth, p.near.receive)
	p.near.out = p.up
	c.net.mu.Lock()
	c.net.pairs[p] = struct{}{}
	c.net.mu.Unlock()
	if p.far != nil {
		p.far.out = p.down
		p.near.answers = func(request []byte) ([]byte, bool) { return c.greet(client, request) }
		n.serve(p.far)
		return p.near
	}
	p.near.answers = func(request []byte) ([]byte, bool) { return n.sentinel.atOnce(client, p, request) }
	return p.near
}

// greet answers the greeting of a client that speaks the second version of the
// protocol, and counts what it sends.
func (c *cluster) greet(client string, request []byte) ([]byte, bool) {
	commands := parseCommands(request)
	c.count(client, commands)
	if len(commands) == 1 && len(commands[0]) == 2 && strings.EqualFold(commands[0][0], "hello") && commands[0][1] == "2" {
		return []byte(greeting), true
	}
	return nil, false
}

// greeting is what a Redis answers to HELLO 2.
const greeting = "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n" +
	"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"

// count counts what a client sends.
func (c *cluster) count(client string, commands [][]string) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	counts := c.net.counts[client]
	if counts == nil {
		counts = map[string]int{}
		c.net.counts[client] = counts
	}
	for _, command := range commands {
		counts[strings.ToUpper(command[0])]++
	}
}

// classesOf is the first of the classes of a client's connections to a node.
func (c *cluster) classesOf(client string, n *node) class {
	var id int
	// A client's name has its number; nothing else dials.
	_, _ = fmt.Sscanf(client, "client-%d", &id)
	room := (classEnd - classConnections) / classesEach
	return class(classConnections + classesEach*((id*len(c.nodes)+n.index)%room))
}
