package sim

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"lockbench/internal/virtual/wasm"
)

// socket is a connection of a module in its kernel. Unlike a dial of goroutines it takes a round trip,
// and no request is answered at once: a module waits in its poller and stops only its own clock.
//
//	connecting ──▶ made
//	          └──▶ failed
type socket struct {
	module  *module
	addr    string
	at      slot
	due     time.Time     // the earliest time of the connection
	settled chan struct{} // closed when it is made, has failed or was closed
	conn    *conn         // once it is made
	err     error         // the reason of a failure
}

var _ wasm.Socket = (*socket)(nil)

// Dial begins a connection.
func (m *module) Dial(addr string) wasm.Socket {
	c := m.cluster
	s := &socket{module: m, addr: addr, settled: make(chan struct{})}
	n, err := c.at(addr)
	if err != nil {
		_ = s.fail(syscall.EHOSTUNREACH)
		return s
	}
	m.dials++
	chance := c.net.chance(fmt.Sprintf("dial/%s/%d", m.name, m.dials))
	trip := 2 * c.net.latency.Base
	if spread := c.net.latency.Spread; spread > 0 {
		trip += time.Duration(chance.Int64N(2 * int64(spread)))
	}
	s.at = slot{client: m.name, node: n.Name, purpose: Operation}
	own := n.attempt(s.at)
	s.due = own.next(time.Now().Add(trip))
	c.loops.Go(func() { s.watch(own) })
	return s
}

// watch wakes the module when the connection may be possible.
func (s *socket) watch(own class) {
	c := s.module.cluster
	select {
	case <-time.After(time.Until(s.due)):
	case <-s.settled:
		return
	case <-c.done:
		return
	}
	for {
		_, change := c.net.open(s.at.client, s.at.node)
		s.module.wake()
		select {
		case <-change:
			settle(own)
		case <-s.settled:
			return
		case <-c.done:
			return
		}
	}
}

// advance makes the connection if possible. It returns ErrAgain until the connection is made or has failed.
func (s *socket) advance() error {
	c := s.module.cluster
	switch {
	case s.conn != nil || s.err != nil:
		return s.err
	case time.Now().Before(s.due):
		return wasm.ErrAgain
	}
	// The address may lead to another node now.
	n, err := c.at(s.addr)
	if err != nil {
		return s.fail(syscall.EHOSTUNREACH)
	}
	s.at.node = n.Name
	switch open, _ := c.net.open(s.at.client, n.Name); {
	case !open: // the sent data is in flight
		return wasm.ErrAgain
	case !n.alive():
		return s.fail(syscall.ECONNREFUSED)
	default:
		s.conn = n.connect(s.at, s.addr)
		s.conn.answers = nil
		s.conn.listener = s.module.wake
		close(s.settled)
		return nil
	}
}

func (s *socket) fail(err error) error {
	s.err = err
	close(s.settled)
	return err
}

func (s *socket) Read(b []byte) (int, error) {
	if err := s.advance(); err != nil {
		return 0, err
	}
	n, err, done := s.conn.tryRead(b)
	switch {
	case !done:
		return 0, wasm.ErrAgain
	case errors.Is(err, io.EOF):
		return 0, nil
	}
	return n, err
}

func (s *socket) Write(b []byte) (int, error) {
	if err := s.advance(); err != nil || len(b) == 0 {
		return 0, err
	}
	return s.conn.Write(b)
}

func (s *socket) Readable() bool {
	err := s.advance()
	return err == nil && s.conn.readable() || s.err != nil
}

func (s *socket) Writable() bool { return !errors.Is(s.advance(), wasm.ErrAgain) }

func (s *socket) Close() {
	switch {
	case s.conn != nil:
		_ = s.conn.Close() // it may have been closed from the other end
	case s.err == nil:
		_ = s.fail(syscall.EPIPE)
	}
}
