package redistest

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/locks"
)

// Wire is a dialer between a client and its server with which a test can influence the connections.
type Wire struct {
	mu     sync.Mutex
	before map[string]func() error
	after  map[string]func()
	lose   map[string]int
	sent   map[string]int
}

// OpenOver opens a client of a lock over a wire of its own.
func OpenOver(t testing.TB, opener locks.Opener, store locks.Store, id int) (locks.Locker, *Wire) {
	t.Helper()
	wire := &Wire{}
	store.Dial = wire.Dial
	l, err := opener(t.Context(), locks.Client{ID: id, Rand: rand.New(rand.NewPCG(1, uint64(id))), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, wire
}

// Dial is for Store.Dial.
func (w *Wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, wire: w}, nil
}

// Before calls do once, just before the next such command is sent. If do returns an error, the command is not sent.
func (w *Wire) Before(command string, do func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.before == nil {
		w.before = make(map[string]func() error)
	}
	w.before[command] = do
}

// After calls do once, just after the next such command was sent and before its answer is read.
func (w *Wire) After(command string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.after == nil {
		w.after = make(map[string]func())
	}
	w.after[command] = do
}

// LoseReplies loses the replies to the next such commands, as many as times. The server executes each of them, and the
// client receives nothing more on that connection.
func (w *Wire) LoseReplies(command string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lose == nil {
		w.lose = make(map[string]int)
	}
	w.lose[command] = times
}

// Sent returns how often each command was sent, with names in lower case and including handshakes.
func (w *Wire) Sent() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.sent)
}

// meet returns the effects on the data that is being sent.
func (w *Wire) meet(sent []byte) (before func() error, after func(), lose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent == nil {
		w.sent = make(map[string]int)
	}
	for _, command := range commands(sent) {
		w.sent[command]++
	}
	for command, do := range w.before {
		if sends(sent, command) {
			delete(w.before, command)
			before = do
		}
	}
	for command, do := range w.after {
		if sends(sent, command) {
			delete(w.after, command)
			after = do
		}
	}
	for command, times := range w.lose {
		if times > 0 && sends(sent, command) {
			w.lose[command]--
			lose = true
		}
	}
	return before, after, lose
}

// sends reports whether a request contains a command: "*3\r\n$3\r\nset\r\n...".
func sends(sent []byte, command string) bool {
	parts := bytes.SplitN(sent, []byte("\r\n"), 4)
	return len(parts) == 4 && strings.EqualFold(string(parts[2]), command)
}

// commands returns the names of all commands in a write. A pipeline has several commands, and a request always fits into
// one write in these tests.
func commands(sent []byte) []string {
	var names []string
	number := func(mark byte) (n int, ok bool) {
		line, rest, found := bytes.Cut(sent, []byte("\r\n"))
		if !found || len(line) < 2 || line[0] != mark {
			return 0, false
		}
		n, err := strconv.Atoi(string(line[1:]))
		sent = rest
		return n, err == nil
	}
	for {
		words, ok := number('*')
		if !ok {
			return names
		}
		for i := range words {
			length, ok := number('$')
			if !ok || length+2 > len(sent) {
				return names
			}
			if i == 0 {
				names = append(names, strings.ToLower(string(sent[:length])))
			}
			sent = sent[length+2:]
		}
	}
}

type wireConn struct {
	net.Conn
	wire *Wire

	mu   sync.Mutex
	deaf bool
}

func (c *wireConn) Write(b []byte) (int, error) {
	before, after, lose := c.wire.meet(b)
	if before != nil {
		if err := before(); err != nil {
			return 0, err
		}
		// Restart the time limit, because before has used some of it.
		c.Conn.SetDeadline(time.Now().Add(limit))
	}
	if lose {
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
	}
	n, err := c.Conn.Write(b)
	if after != nil {
		after()
	}
	return n, err
}

func (c *wireConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		deaf := c.deaf
		c.mu.Unlock()
		if !deaf || err != nil {
			return n, err
		}
	}
}
