package guest

import (
	"context"
	"io"
	"strings"
	"sync"

	"lockbench/locks"
)

// InProcess runs a guest inside this process and returns the host's end of it and
// a function that ends it, which must be called. The lock gets client as it is,
// whatever the open request says. The gate, which may be nil, holds both
// directions of the protocol: nothing that stands behind it is heard of, but
// unlike a stopped process the lock's own goroutines run on.
func InProcess(ctx context.Context, hello Hello, opener locks.Opener, client locks.Client, gate *Gate, o ConnOptions) (*Conn, func() error) {
	open := func(context.Context, Request) (locks.Opener, locks.Client, error) { return opener, client, nil }
	// It ends with ctx, or earlier at stop: then nothing waits at the gate.
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
		// The guest sees its input end, and what it still has to say is read and
		// dropped, so that it ends as it would in good order.
		conn.endInput()
		cancel()
		<-served
		<-conn.ended
		return err
	}
	return conn, stop
}

// asNoise is a writer whose lines somebody hears: a lock that panics in many clients would
// else fill the terminal of whoever runs us with one stack for each.
type asNoise func(line string)

func (n asNoise) Write(p []byte) (int, error) {
	if n != nil {
		for line := range strings.Lines(string(p)) {
			n(strings.TrimRight(line, "\n"))
		}
	}
	return len(p), nil
}

// Gate stops a client that runs inside the host's own process, as far as that can
// be done: while it is held, no request goes in and no answer comes out. The zero
// Gate is open.
type Gate struct {
	mu   sync.Mutex
	held chan struct{} // nil: open
}

// Hold closes the gate. When it returns, nothing passes any more.
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
		g.held = nil
	}
}

// wait returns when the gate is open, or done is closed.
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

// gated is one direction behind a gate.
type gated struct {
	gate *Gate
	done <-chan struct{}
	r    io.Reader
	w    io.Writer
}

func (g gated) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.gate.wait(g.done)
	return n, err
}

func (g gated) Write(p []byte) (int, error) {
	g.gate.wait(g.done)
	return g.w.Write(p)
}
