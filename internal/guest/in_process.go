package guest

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"lockbench/locks"
)

// InProcess runs a guest in this process. It returns the host's end and a function that must be called to end the guest.
// The lock gets client unchanged, whatever the open request contains. gate may be nil. While it is held, no messages pass
// in either direction, but unlike a paused process the lock's own goroutines continue.
func InProcess(ctx context.Context, hello Hello, opener locks.Opener, client locks.Client, gate *Gate, o ConnOptions) (*Conn, func() error) {
	open := func(context.Context, Request) (locks.Opener, locks.Client, error) { return opener, client, nil }
	// stop cancels pass, so that no message waits at the gate.
	pass, cancel := context.WithCancel(ctx)
	requestsR, requestsW := io.Pipe()
	answersR, answersW := io.Pipe()
	var err error
	served := make(chan struct{})
	go func() {
		defer close(served)
		in := gated{gate: gate, done: pass.Done(), r: requestsR}
		out := gated{gate: gate, done: pass.Done(), w: answersW}
		err = newServer(open, out, asNoise(o.Noise)).serve(ctx, in, hello)
		_ = requestsR.Close()
		_ = answersW.Close()
	}()
	conn := NewConn(answersR, requestsW, o)
	stop := func() error {
		// After the end of its input the guest ends in the normal way; its remaining output is discarded.
		conn.endInput()
		cancel()
		<-served
		<-conn.ended
		return err
	}
	return conn, stop
}

// asNoise is a writer that passes on lines. Otherwise a lock that panics in many clients would fill the terminal with
// stack traces.
type asNoise func(line string)

func (n asNoise) Write(p []byte) (int, error) {
	if n != nil {
		for line := range strings.Lines(string(p)) {
			n(strings.TrimRight(line, "\n"))
		}
	}
	return len(p), nil
}

// Gate pauses a client in the host's own process as far as possible: while the gate is held, no request goes in and no
// answer comes out. The zero Gate is open.
type Gate struct {
	// Apart, if not nil, is called between two requests that waited for the gate, such as those of two threads. In virtual
	// time both would go in at one instant, and the lock would begin them in any order.
	Apart func()

	mu       sync.Mutex
	held     chan struct{} // nil: open
	released time.Time     // when it was opened last
	passed   bool          // a request went in at that time
}

// Hold closes the gate. No message passes after it returns.
func (g *Gate) Hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held = make(chan struct{})
	}
}

// Release opens the gate.
func (g *Gate) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != nil {
		close(g.held)
		g.held, g.released, g.passed = nil, time.Now(), false
	}
}

// wait waits until the gate is open or done is closed.
func (g *Gate) wait(done <-chan struct{}) {
	if g == nil {
		return
	}
	for {
		g.mu.Lock()
		held := g.held
		g.mu.Unlock()
		if held == nil {
			return
		}
		select {
		case <-held:
		case <-done:
			return
		}
	}
}

// part lets the requests that waited for the gate go in one after the other.
func (g *Gate) part() {
	if g == nil || g.Apart == nil {
		return
	}
	g.mu.Lock()
	waited := time.Now().Equal(g.released)
	second := waited && g.passed
	g.passed = waited
	g.mu.Unlock()
	if second {
		g.Apart()
	}
}

// gated is one direction of the protocol behind a gate.
type gated struct {
	gate *Gate
	done <-chan struct{}
	r    io.Reader
	w    io.Writer
}

func (g gated) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.gate.wait(g.done)
	g.gate.part()
	return n, err
}

func (g gated) Write(p []byte) (int, error) {
	g.gate.wait(g.done)
	return g.w.Write(p)
}
