package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"github.com/rs/zerolog"

	"lockbench/internal/world"
)

// quiet is the context from which toxiproxy takes its logger.
var quiet = zerolog.Nop().WithContext(context.Background())

// conn is a relayed connection: two sockets and a flow in each direction.
//
//	near ──source──▶ up:   [toxics] ▶ queue ▶ gate ──▶ far
//	near ◀── gate ◀ queue ◀ [toxics]  :down ◀──source── far
//
// The end of a stream is queued behind its bytes and held like them, so a client notices the
// death of a node behind a cut link only after the cut.
type conn struct {
	proxy    *Proxy
	near     *net.TCPConn // accepted
	from     netip.Addr   // the dialler's own IP; invalid if it has none
	to       netip.AddrPort
	service  *end // the service that the client dialled; nil: a node
	name     world.Link
	up, down *flow
	requests io.Writer // parses requests to count them; nil: not counted

	life context.Context // ends when the connection is killed
	end  context.CancelFunc

	mu  sync.Mutex // held while it is killed
	far farEnd     // nil until dialled
}

// farEnd is the connection to a node.
type farEnd interface {
	net.Conn
	CloseWrite() error
}

// serve relays until the connection ends.
func (c *conn) serve() {
	c.up.begin(c, c.near, c.requests)
	connected := c.connect()
	if connected {
		c.down.begin(c, c.far, nil)
		var wg sync.WaitGroup
		wg.Go(func() { c.up.pump(c, c.far) })
		c.down.pump(c, c.near)
		wg.Wait()
	}
	c.kill()
	c.up.queue.discard()
	<-c.up.queue.ended
	if connected {
		<-c.down.queue.ended
	}
	c.proxy.mu.Lock()
	delete(c.proxy.conns, c)
	c.proxy.mu.Unlock()
}

// await waits until the state of a link lets something pass. It reports whether the connection is still there then.
func (c *conn) await(l *link, passes func(*state) bool) bool {
	for {
		st := l.state.Load()
		if passes(st) {
			return true
		}
		select {
		case <-st.changed:
		case <-c.up.queue.ended:
			c.kill()
			return false
		case <-c.life.Done():
			return false
		}
	}
}

// connect dials the node once the link lets it, and reports whether it did. If the client gives
// up before a cut ends, the node is never dialled and sees none of its bytes.
func (c *conn) connect() bool {
	if !c.await(c.up.link, func(st *state) bool { return !st.held() }) {
		return false
	}
	ctx, cancel := context.WithTimeout(c.life, c.proxy.options.DialLimit)
	defer cancel()
	far, err := c.dial(ctx)
	if err != nil {
		c.refuse(err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		far.Close()
		return false
	}
	c.far = far.(farEnd)
	return true
}

func (c *conn) dial(ctx context.Context) (net.Conn, error) {
	if dial := c.proxy.options.Dial; dial != nil {
		return dial(ctx, c.name.To)
	}
	var dialer net.Dialer
	if c.from.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: c.from.AsSlice()}
	}
	return dialer.DialContext(ctx, "tcp4", c.to.String())
}

// refuse resets a connection whose node cannot be reached, once the link lets the reset pass.
func (c *conn) refuse(err error) {
	if !c.await(c.down.link, func(st *state) bool { return !st.held() && !st.drop }) {
		return
	}
	c.proxy.options.Log(fmt.Sprintf("connect %s: %v", c.name, err))
	c.reset()
}

// kill closes both sockets now and drops all queued bytes. It may be called again.
func (c *conn) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	c.near.Close()
	if c.far != nil {
		c.far.Close()
	}
}

// reset is kill with a TCP reset on both sides.
func (c *conn) reset() {
	c.mu.Lock()
	_ = c.near.SetLinger(0) // fails if it is closed
	if far, ok := c.far.(*net.TCPConn); ok {
		_ = far.SetLinger(0)
	}
	c.mu.Unlock()
	c.kill()
}
