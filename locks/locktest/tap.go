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

// moment is where in a request something happens to the client that sends it.
type moment string

// The moments of a request.
const (
	unsent     moment = "about to be sent"
	unanswered moment = "sent, and its answer on the way"
	unheard    moment = "sent and done, and its answer lost"
)

var moments = []moment{unsent, unanswered, unheard}

// tap sits in all connections of one client and does something in the middle of one
// request. So a rule can be about a certain request and need not guess how long the
// client takes to get there.
//
// A request is what is written at once: of a pipeline all of it.
type tap struct {
	mu   sync.Mutex
	sent int       // requests so far
	last time.Time // when the latest was
	do   *meeting  // nil: nothing is to happen
}

// meeting is what is to happen in a request.
type meeting struct {
	in    int // the number of the request
	when  moment
	act   func()
	begun chan struct{} // closed once the request is there
	met   chan struct{} // closed once it has happened
	name  string        // of the request, as far as one can read it
}

// These are no moments of a request: one before the first, and one after the last of a waiter.
const (
	atOnce      moment = "yet to come"
	whileAsleep moment = "about to be sent after a sleep"
)

// beforehand is the meeting of a call whose context had ended before it began.
var beforehand = func() *meeting {
	m := &meeting{name: "every request", when: atOnce, begun: make(chan struct{}), met: make(chan struct{})}
	close(m.begun)
	close(m.met)
	return m
}()

func (m *meeting) String() string { return fmt.Sprintf("%q %s", m.name, m.when) }

// happened says whether it has. A call may end before what ended its context is done.
func (m *meeting) happened() bool {
	select {
	case <-m.begun:
		<-m.met
		return true
	default: // also if nothing is to happen
		return false
	}
}

// through makes connections that pass the tap.
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

// meet lets act happen in the request that comes as number n from now on.
func (t *tap) meet(n int, when moment, act func()) *meeting {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.do = &meeting{in: t.sent + n, when: when, act: act, begun: make(chan struct{}), met: make(chan struct{})}
	return t.do
}

// leave forgets what was to happen and has not.
func (t *tap) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.do = nil
}

// requests are how many there were, and for how long there has been no other.
func (t *tap) requests() (n int, quiet time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent, time.Since(t.last)
}

// next counts a request and returns what is to happen in it.
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

// command is the first word of a request in Redis' protocol: "*3\r\n$3\r\nset\r\n...".
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

// Read keeps to itself what comes in when it is deaf. It has come in all the same, so
// that the server has done what it was asked before the client hears of the loss.
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

// openTapped opens a client with a tap in its connections.
func (b *bench) openTapped(ctx context.Context) (locks.Locker, *tap, error) {
	t := &tap{}
	l, err := b.openWith(ctx, func(ctx context.Context, id int) (locks.Locker, error) {
		return b.OpenThrough(ctx, id, t.through)
	})
	return l, t, err
}
