package sim

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// hangsUp is the message that ends a connection.
const hangsUp = 1

// pair is a connection: two ends and the lanes between them.
type pair struct {
	net      *network
	at       slot
	server   *node
	up, down *lane // to the node, to the client
	near     *conn // the client's end
	far      *conn // the node's end; nil at a directory, which has no stream to read

	hears io.Writer // parses the data that arrives at the node; guarded by network.mu, like reached
	// reached holds the reply to the last request that arrived.
	reached *hold
}

// slot is a place among the open connections of one client to one node.
type slot struct {
	client, node string
	purpose      Purpose
	n            int
}

// conn is one end. Writes never wait. Reads wait for data, the end of the stream or the deadline, and
// return only while their owner runs.
type conn struct {
	pair          *pair
	owner         string
	out           *lane
	late          class // of its deadlines, because two deadlines at one instant would race
	local, remote net.Addr
	says          io.Writer // parses the data that is written here; may be nil
	// answers replies to some requests at once and keeps them from the lane. It may be nil.
	answers func(request []byte) (reply []byte, done bool)

	mu       sync.Mutex
	listener func() // called when there is something to read; nil: the reader waits here
	in       []byte
	heard    uint64 // hash of the last message to this end
	ended    bool   // the other end has hung up
	broken   bool   // reset
	closed   bool
	hold     *hold // holds the next data; usually nil
	deaf     bool  // data that is delivered here is lost, and so is the end of the stream
	deadline time.Time
	timer    *time.Timer
	wake     chan struct{} // with room for one token
}

var _ net.Conn = (*conn)(nil)

func newConn(p *pair, owner string, late class, local, remote net.Addr) *conn {
	return &conn{pair: p, owner: owner, late: late, local: local, remote: remote, wake: make(chan struct{}, 1)}
}

// receive is called when a message is delivered at this end.
func (c *conn) receive(p parcel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.deaf {
		return
	}
	if c.hold != nil && c.hold.keep(c, p) {
		return
	}
	c.in = append(c.in, p.data...)
	c.heard = p.what
	c.ended = c.ended || p.fin
	c.signal()
}

func (c *conn) signal() {
	if c.listener != nil {
		c.listener()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Read waits for data.
func (c *conn) Read(b []byte) (int, error) {
	for {
		stopped := c.pair.net.stopped(c.owner)
		c.mu.Lock()
		n, err, done := c.take(b, stopped != nil)
		if done {
			c.mu.Unlock()
			return n, err
		}
		var expired <-chan time.Time
		if stopped == nil && !c.deadline.IsZero() {
			d := time.Until(c.late.next(c.deadline))
			if c.timer == nil {
				c.timer = time.NewTimer(d)
			} else {
				c.timer.Reset(d)
			}
			expired = c.timer.C
		}
		c.mu.Unlock()
		select {
		case <-c.wake:
		case <-expired:
		case <-stopped:
			settle(c.late) // otherwise all connections of an owner would continue in one instant
		}
	}
}

// tryRead is like Read, but does not wait.
func (c *conn) tryRead(b []byte) (n int, err error, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(b, false)
}

// readable reports whether a read would return at once.
func (c *conn) readable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken || c.closed || len(c.in) > 0 || c.ended
}

// take returns the result of a read now, if there is one. A stopped owner notices only its own end.
func (c *conn) take(b []byte, stopped bool) (n int, err error, done bool) {
	switch {
	case c.broken:
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: c.remote, Err: errReset}, true
	case stopped:
		return 0, nil, false
	case c.closed:
		return 0, net.ErrClosed, true
	case len(c.in) > 0:
		n = copy(b, c.in)
		if c.in = c.in[n:]; len(c.in) == 0 {
			c.in = nil
		}
		return n, nil, true
	case c.ended:
		return 0, io.EOF, true
	case !c.deadline.IsZero() && !time.Now().Before(c.late.next(c.deadline)):
		return 0, os.ErrDeadlineExceeded, true
	}
	return 0, nil, false
}

// Write sends b.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.broken:
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: c.remote, Err: errPipe}
	}
	if c.says != nil {
		_, _ = c.says.Write(b) // a parser never fails
	}
	if c.answers != nil {
		if reply, done := c.answers(b); done {
			if reply == nil {
				return 0, fmt.Errorf("write to %s: %w", c.remote, errUnreachable)
			}
			c.in = append(c.in, reply...)
			c.signal()
			return len(b), nil
		}
	}
	what := hash(b)
	if c == c.pair.far && c.pair.at.purpose != Subscription {
		// Most replies are equal, and their requests differ. A subscription receives messages without
		// a request.
		what = mix(what ^ c.heard)
	}
	c.out.send(parcel{data: append([]byte(nil), b...), what: what | 1})
	return len(b), nil
}

// Close closes this end. Data written before still arrives.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	c.signal()
	c.mu.Unlock()
	c.out.send(parcel{fin: true, what: hangsUp})
	c.pair.release()
	return nil
}

// reset ends this end at once, also for a stopped owner.
func (c *conn) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	c.signal()
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed || c.broken
}

// SetDeadline bounds reads; writes never wait.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline bounds reads, also a read that already waits.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.deadline = t
	c.signal()
	return nil
}

// SetWriteDeadline has no effect.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// release frees the slot of a connection when both ends are closed.
func (p *pair) release() {
	if !p.near.isClosed() || p.far != nil && !p.far.isClosed() {
		return
	}
	p.forget()
}

// breakOff ends a connection at both ends at once, as a reset does.
func (p *pair) breakOff() {
	p.near.reset()
	if p.far != nil {
		p.far.reset()
	}
	p.forget()
}

// resetSoon is like breakOff, but in an instant of the connection's own. Otherwise the owner of
// several connections would continue on all of them at once.
func (p *pair) resetSoon() {
	now := time.Now()
	time.AfterFunc(p.near.late.next(now).Sub(now), p.breakOff)
}

// crash ends the node's end. The client notices when the network delivers that.
func (p *pair) crash() {
	p.up.end()
	if p.far != nil {
		p.far.reset()
	}
	p.down.send(parcel{fin: true, what: hangsUp})
}

// abandon ends the client's end. The node notices when the network delivers that.
func (p *pair) abandon() {
	p.near.reset()
	p.down.end()
	p.up.send(parcel{fin: true, what: hangsUp})
}

// Send sends to the client on behalf of a server without a stream.
func (p *pair) Send(data []byte) { p.down.send(parcel{data: data}) }

// Reachable reports whether the client and the server could communicate now.
func (p *pair) Reachable() bool {
	open, _ := p.net.open(p.at.client, p.at.node)
	return open && p.server.running()
}

func (p *pair) forget() {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, open := n.pairs[p]; !open {
		return
	}
	delete(n.pairs, p)
	delete(n.inUse, p.at)
	p.up.endLocked()
	p.down.endLocked()
}
