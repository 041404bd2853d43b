package sim

import (
	"context"
	"errors"
	"fmt"
	globalrand "math/rand"
	"math/rand/v2"
	"sync"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
)

// client is a lock client: goroutines of this process, behind a gate and a network of their own.
type client struct {
	cluster *cluster
	id      int
	name    string
	conn    *guest.Conn
	gate    guest.Gate
	cancel  context.CancelFunc
	stop    func() error
	dead    chan struct{} // closed when it is killed
	dying   sync.Once
	ending  sync.Once
	gone    chan struct{} // closed when its goroutines have ended
	err     error         // their error, once gone is closed
	clock   Clock
}

// member is a client of a cluster: goroutines or a WASM module.
type member interface {
	world.Client
	// end ends it in any state.
	end() error
	// shiftClock shifts its clock, and clockOffset returns the offset.
	shiftClock(by time.Duration, drift float64)
	clockOffset() time.Duration
}

var _ member = (*client)(nil)

var errKilled = errors.New("it was killed")

// Open starts a client.
func (c *cluster) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	cl, err := c.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", history.ClientParty(s.ID), err)
	}
	return cl, nil
}

func (c *cluster) open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	c.Opened(s)
	switch {
	case s.Command != "":
		return nil, fmt.Errorf("%w: %w", world.ErrUnsupportedHere, errProcess)
	case s.Module != "":
		if err := c.take(s.ID); err != nil {
			return nil, err
		}
		// Others would continue in the instant in which this one begins.
		c.Settle(history.ClientParty(s.ID).String())
		return c.openModule(ctx, s)
	}
	opener, err := c.opener(s)
	if err != nil {
		return nil, err
	}
	if err := c.take(s.ID); err != nil {
		return nil, err
	}
	return c.openGoroutines(ctx, s, opener)
}

// opener returns what opens the lock inside this process.
func (c *cluster) opener(s world.ClientSpec) (locks.Opener, error) {
	switch {
	case s.Opener != nil:
		return s.Opener, nil
	case c.world.options.Open == nil:
		return nil, fmt.Errorf("%w: this simulation was made without a list of locks", world.ErrUnsupportedHere)
	}
	opener, err := c.world.options.Open(s.Lock, s.Options)
	if errors.Is(err, locks.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", world.ErrUnsupportedHere, err)
	}
	return opener, err
}

// take reserves a number for a client.
func (c *cluster) take(id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.clients[id]; used {
		return errors.New("this number was used before, and the links of two clients would be one")
	}
	c.clients[id] = nil
	return nil
}

// remember registers a client.
func (c *cluster) remember(id int, m member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients[id] = m
}

func (c *cluster) openGoroutines(ctx context.Context, s world.ClientSpec, opener locks.Opener) (*client, error) {
	cl := &client{cluster: c, id: s.ID, name: history.ClientParty(s.ID).String(), dead: make(chan struct{}), gone: make(chan struct{})}
	// One after the other: while they are set up, libraries draw from the process's source of
	// randomness, for example to shuffle their servers.
	c.Settle(cl.name)
	seedGlobal(int64(s.Seed))
	store := c.Store()
	store.Dial = cl.dial
	known := locks.Client{ID: s.ID, Rand: rand.New(rand.NewPCG(s.Seed, uint64(s.ID))), Store: store, Now: cl.clock.Now}
	// The client outlives the call that opens it.
	var life context.Context
	life, cl.cancel = context.WithCancel(context.WithoutCancel(ctx))
	hello := guest.Hello{Name: s.Lock, SourceAddress: true}
	o := s.ConnOptions()
	o.Lost, o.Queued = unlessDead(cl.dead, s.Lost), unlessDead(cl.dead, s.Queued)
	cl.conn, cl.stop = guest.InProcess(life, hello, opener, known, &cl.gate, o)
	c.remember(s.ID, cl)
	_, err := cl.conn.Hello(ctx)
	if err == nil {
		err = cl.conn.Open(ctx, guest.Request{Client: s.ID, Lock: s.Lock, Options: s.Options, Seed: s.Seed})
	}
	if err != nil {
		return nil, errors.Join(err, cl.end())
	}
	return cl, nil
}

// seedGlobal makes the draws of libraries from the process's source of randomness repeatable, as far
// as the Go runtime lets it (GODEBUG=randseednop=0).
func seedGlobal(seed int64) {
	globalrand.Seed(seed) //lint:ignore SA1019 libraries draw from it, and nothing else seeds it
}

// Conn returns the connection to the lock.
func (cl *client) Conn() *guest.Conn { return cl.conn }

// Pause stops the client's operations and all that it sends and receives. Timers of its library go
// on, unlike under SIGSTOP, and their messages leave after the resume.
func (cl *client) Pause(context.Context) error {
	cl.gate.Hold()
	cl.cluster.net.freeze(cl.name)
	return nil
}

// Resume ends Pause.
func (cl *client) Resume(context.Context) error {
	cl.cluster.net.thaw(cl.name)
	cl.gate.Release()
	return nil
}

// Kill cuts the client off so that it sends nothing more. It does not wait for its goroutines, which
// end when they notice: a library may sleep a while, and would determine how long the kill takes.
func (cl *client) Kill(context.Context) error {
	cl.dying.Do(func() {
		close(cl.dead)
		cl.conn.Cut(errKilled)
		cl.cluster.abandon(cl.name)
	})
	cl.leave()
	return nil
}

// abandon ends the connections of a killed client.
func (c *cluster) abandon(client string) {
	for _, p := range c.net.pairsWith(func(at slot) bool { return at.client == client }) {
		p.abandon()
	}
}

// Close closes the client. It does not wait for the goroutines of a killed client, because then its
// replacement would start when a dead library's sleep is over.
func (cl *client) Close(ctx context.Context) error {
	select {
	case <-cl.dead:
		return nil
	default:
	}
	err := cl.conn.Close(ctx)
	return errors.Join(err, cl.finish())
}

// end ends it in any state.
func (cl *client) end() error {
	cl.gate.Release()
	return errors.Join(cl.Kill(context.Background()), cl.finish())
}

// shiftClock shifts the wall clock that its lock reads.
func (cl *client) shiftClock(by time.Duration, drift float64) { cl.clock.Shift(by, drift) }

func (cl *client) clockOffset() time.Duration { return cl.clock.Offset() }

// unlessDead passes a notice on while its client lives.
func unlessDead(dead <-chan struct{}, notice func(session string)) func(session string) {
	if notice == nil {
		return nil
	}
	return func(session string) {
		select {
		case <-dead:
		default:
			notice(session)
		}
	}
}

// leave lets the client's goroutines end.
func (cl *client) leave() {
	cl.ending.Do(func() {
		cl.cancel()
		go func() {
			defer close(cl.gone)
			cl.err = cl.stop()
		}()
	})
}

// finish waits for them.
func (cl *client) finish() error {
	cl.leave()
	<-cl.gone
	if cl.err != nil && !errors.Is(cl.err, context.Canceled) {
		return fmt.Errorf("end %s: %w", cl.name, cl.err)
	}
	return nil
}
