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

// client is a lock client: goroutines of this process, behind a gate and a network
// of their own.
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
	err     error         // how, once gone is closed
	clock   Clock
}

// member is a client of a cluster, whatever it is made of.
type member interface {
	world.Client
	// end ends it in whatever state it is.
	end() error
	// shiftClock lets its clock be wrong, and clockOffset tells by how much it is.
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
		// Others would go on in the instant in which this one begins.
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

// opener is what opens the lock inside this process.
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

// take takes a number for a client.
func (c *cluster) take(id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.clients[id]; used {
		return errors.New("this number was used before, and the links of two clients would be one")
	}
	c.clients[id] = nil
	return nil
}

// remember knows the client of a number from now on.
func (c *cluster) remember(id int, m member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients[id] = m
}

func (c *cluster) openGoroutines(ctx context.Context, s world.ClientSpec, opener locks.Opener) (*client, error) {
	cl := &client{cluster: c, id: s.ID, name: history.ClientParty(s.ID).String(), dead: make(chan struct{}), gone: make(chan struct{})}
	// One after the other: libraries draw from chance that all clients share while
	// they set themselves up, to shuffle their servers for one.
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

// seedGlobal makes what libraries draw from the process's own source of chance
// repeat itself, as far as the Go runtime lets it (GODEBUG=randseednop=0).
func seedGlobal(seed int64) {
	globalrand.Seed(seed) //lint:ignore SA1019 libraries draw from it, and nothing else seeds it
}

// Conn is the protocol.
func (cl *client) Conn() *guest.Conn { return cl.conn }

// Pause stops the client's steps and all that it sends and hears. Timers of its
// library go on, unlike under SIGSTOP, and what they do leaves it after the resume.
func (cl *client) Pause(context.Context) error {
	cl.gate.Hold()
	cl.cluster.net.freeze(cl.name)
	return nil
}

// Resume lets it go on.
func (cl *client) Resume(context.Context) error {
	cl.cluster.net.thaw(cl.name)
	cl.gate.Release()
	return nil
}

// Kill cuts the client off before it can say another word. Its goroutines end when they
// notice, and nobody waits for them: a library's may sleep a while before it tries again,
// and how long the kill took would be its to decide.
func (cl *client) Kill(context.Context) error {
	cl.dying.Do(func() {
		close(cl.dead)
		cl.conn.Cut(errKilled)
		cl.cluster.abandon(cl.name)
	})
	cl.leave()
	return nil
}

// abandon ends the connections of a client that is killed.
func (c *cluster) abandon(client string) {
	for _, p := range c.net.pairsWith(func(at slot) bool { return at.client == client }) {
		p.abandon()
	}
}

// Close ends the client in good order, and waits for nobody who was killed: whoever takes
// his place would come when a dead library's sleep is over.
func (cl *client) Close(ctx context.Context) error {
	select {
	case <-cl.dead:
		return nil
	default:
	}
	err := cl.conn.Close(ctx)
	return errors.Join(err, cl.finish())
}

// end ends it in whatever state it is.
func (cl *client) end() error {
	cl.gate.Release()
	return errors.Join(cl.Kill(context.Background()), cl.finish())
}

// shiftClock lets the wall clock be wrong that its lock looks at.
func (cl *client) shiftClock(by time.Duration, drift float64) { cl.clock.Shift(by, drift) }

func (cl *client) clockOffset() time.Duration { return cl.clock.Offset() }

// unlessDead lets a notice through as long as its client lives.
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

// finish returns when they have.
func (cl *client) finish() error {
	cl.leave()
	<-cl.gone
	if cl.err != nil && !errors.Is(cl.err, context.Canceled) {
		return fmt.Errorf("end %s: %w", cl.name, cl.err)
	}
	return nil
}
