package locktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"lockbench/locks"
)

// Dial opens a connection, as locks.Store.Dial does.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// moment is a moment in the life of a request.
type moment string

// The moments of a request.
const (
	unsent     moment = "about to be sent"
	unanswered moment = "sent, and its answer on the way"
	unheard    moment = "sent and done, and its answer lost"
)

var moments = []moment{unsent, unanswered, unheard}

// tap intercepts all connections of one client and acts in the middle of one request. So a rule can select a request
// without guessing when the client sends it.
//
// A request is the data of one write, also a whole pipeline.
type tap struct {
	mu   sync.Mutex
	sent int       // number of requests so far
	last time.Time // the time of the latest request
	do   *meeting  // nil: no action
}

// meeting is an action in the middle of a request.
type meeting struct {
	in    int // the number of the request
	when  moment
	act   func()
	begun chan struct{} // closed when the request arrives
	met   chan struct{} // closed after the action
	name  string        // of the request, if readable
}

// Two moments outside requests: before the first, and after the last one of a waiter.
const (
	atOnce      moment = "yet to come"
	whileAsleep moment = "about to be sent after a sleep"
)

// beforehand is the meeting of a call whose context has already ended.
var beforehand = func() *meeting {
	m := &meeting{name: "every request", when: atOnce, begun: make(chan struct{}), met: make(chan struct{})}
	close(m.begun)
	close(m.met)
	return m
}()

func (m *meeting) String() string { return fmt.Sprintf("%q %s", m.name, m.when) }

// happened reports whether the action is done. A call may end before the action that ended its context is done.
func (m *meeting) happened() bool {
	select {
	case <-m.begun:
		<-m.met
		return true
	default: // also if nothing is to happen
		return false
	}
}

// through returns a Dial whose connections pass the tap.
func (t *tap) through(dial Dial) Dial {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &tapped{Conn: conn, tap: t}, nil
	}
}

// meet calls act in the nth request from now.
func (t *tap) meet(n int, when moment, act func()) *meeting {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.do = &meeting{in: t.sent + n, when: when, act: act, begun: make(chan struct{}), met: make(chan struct{})}
	return t.do
}

// leave removes the pending action.
func (t *tap) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.do = nil
}

// requests returns the number of requests and the time since the last one.
func (t *tap) requests() (n int, quiet time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent, time.Since(t.last)
}

// next counts a request and returns its action.
func (t *tap) next(request []byte) *meeting {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	t.last = time.Now()
	m := t.do
	if m == nil || t.sent != m.in {
		return nil
	}
	t.do = nil
	m.name = command(request)
	close(m.begun)
	return m
}

// command returns the first word of a request in Redis' protocol: "*3\r\n$3\r\nset\r\n...".
func command(request []byte) string {
	parts := bytes.SplitN(request, []byte("\r\n"), 4)
	if len(parts) < 4 || len(parts[0]) == 0 || parts[0][0] != '*' {
		return "a request"
	}
	return string(bytes.ToLower(parts[2]))
}

var errAnswerLost = errors.New("the answer was lost on its way")

type tapped struct {
	net.Conn
	tap *tap

	mu   sync.Mutex
	deaf bool
}

func (c *tapped) Write(b []byte) (int, error) {
	m := c.tap.next(b)
	if m == nil {
		return c.Conn.Write(b)
	}
	defer close(m.met)
	if m.when == unsent || m.when == whileAsleep {
		m.act()
		return c.Conn.Write(b)
	}
	if m.when == unheard {
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
	}
	n, err := c.Conn.Write(b)
	m.act()
	return n, err
}

// Read discards the input when the connection is deaf. It still waits for the input, so that the server has executed the
// request before the client notices the loss.
func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf && n > 0 {
		_ = c.Close()
		return 0, errAnswerLost
	}
	return n, err
}

// openTapped opens a client whose connections pass a tap.
func (b *bench) openTapped(ctx context.Context) (locks.Locker, *tap, error) {
	t := &tap{}
	l, err := b.openWith(ctx, func(ctx context.Context, id int) (locks.Locker, error) {
		return b.OpenThrough(ctx, id, t.through)
	})
	return l, t, err
}
