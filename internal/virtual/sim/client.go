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

// member is a client of a cluster: goroutines or a WASM module.
type member interface {
	world.Client
	// end ends it in any state.
	end() error
	// shiftClock shifts its clock, and clockOffset returns the offset.
	shiftClock(by time.Duration, drift float64)
	clockOffset() time.Duration
}

// base is the common part of all members.
type base struct {
	cluster *cluster
	id      int
	name    string
	conn    *guest.Conn
	clock   Clock
	dead    chan struct{} // closed when it is killed
	dying   sync.Once
	gone    chan struct{} // closed when it has ended
}

func (c *cluster) newBase(id int) base {
	return base{cluster: c, id: id, name: history.ClientParty(id).String(), dead: make(chan struct{}), gone: make(chan struct{})}
}

// Conn returns the connection to the lock.
func (b *base) Conn() *guest.Conn { return b.conn }

func (b *base) clockOffset() time.Duration { return b.clock.Offset() }

// connOptions returns the options of its connection, which passes on no notices of a killed client.
func (b *base) connOptions(s world.ClientSpec) guest.ConnOptions {
	unlessDead := func(notice func(session string)) func(session string) {
		if notice == nil {
			return nil
		}
		return func(session string) {
			if !b.isDead() {
				notice(session)
			}
		}
	}
	o := s.ConnOptions()
	o.Lost, o.Queued = unlessDead(s.Lost), unlessDead(s.Queued)
	return o
}

func (b *base) isDead() bool {
	select {
	case <-b.dead:
		return true
	default:
		return false
	}
}

// kill cuts the client off so that it sends nothing more.
func (b *base) kill() {
	b.dying.Do(func() {
		close(b.dead)
		b.conn.Cut(errKilled)
		for _, p := range b.cluster.net.pairsWith(func(at slot) bool { return at.client == b.name }) {
			p.abandon()
		}
	})
}

// client is a lock client that consists of goroutines of this process, behind a gate and a network of their own.
type client struct {
	base
	gate   guest.Gate
	cancel context.CancelFunc
	stop   func() error
	ending sync.Once
	err    error // of its goroutines, once gone is closed
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
	var opener locks.Opener
	switch {
	case s.Command != "":
		return nil, world.Unsupported{Why: errProcess}
	case s.Module == "":
		var err error
		if opener, err = c.opener(s); err != nil {
			return nil, err
		}
	}
	if err := c.clients.take(s.ID); err != nil {
		return nil, err
	}
	// One after the other: other clients would continue in the instant in which this one begins, and while libraries
	// are set up, they draw from the process's source of randomness, for example to shuffle their servers.
	c.Settle(history.ClientParty(s.ID).String())
	r := guest.Request{Client: s.ID, Lock: s.Lock, Options: s.Options, Seed: s.Seed}
	var m member
	if s.Module == "" {
		m = c.startGoroutines(ctx, s, opener)
	} else {
		store := guest.Addresses(c.Store())
		r.Store = &store
		var err error
		if m, err = c.startModule(ctx, s); err != nil {
			return nil, err
		}
	}
	c.clients.put(s.ID, m)
	_, err := m.Conn().Hello(ctx)
	if err == nil {
		err = m.Conn().Open(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(err, m.end())
	}
	return m, nil
}

// opener returns the function that opens the lock inside this process.
func (c *cluster) opener(s world.ClientSpec) (locks.Opener, error) {
	switch {
	case s.Opener != nil:
		return s.Opener, nil
	case c.world.options.Open == nil:
		return nil, world.Unsupportedf("this simulation was made without a list of locks")
	}
	opener, err := c.world.options.Open(s.Lock, s.Options)
	if errors.Is(err, locks.ErrUnsupported) {
		return nil, world.Unsupported{Why: err}
	}
	return opener, err
}

// startGoroutines starts a client without its own program.
func (c *cluster) startGoroutines(ctx context.Context, s world.ClientSpec, opener locks.Opener) *client {
	seedGlobal(int64(s.Seed))
	cl := &client{base: c.newBase(s.ID)}
	cl.gate.Apart = func() {
		time.Sleep(time.Nanosecond) // leave this instant, which may belong to the client
		c.Settle(cl.name)
	}
	store := c.Store()
	store.Dial = cl.dial
	known := locks.Client{ID: s.ID, Rand: rand.New(rand.NewPCG(s.Seed, uint64(s.ID))), Store: store, Now: cl.clock.Now}
	// The client outlives the call that opens it.
	var life context.Context
	life, cl.cancel = context.WithCancel(context.WithoutCancel(ctx))
	hello := guest.Hello{Name: s.Lock, SourceAddress: true}
	cl.conn, cl.stop = guest.InProcess(life, hello, opener, known, &cl.gate, cl.connOptions(s))
	return cl
}

// seedGlobal makes the draws of libraries from the process's source of randomness repeatable, as far
// as the Go runtime allows (GODEBUG=randseednop=0).
func seedGlobal(seed int64) {
	globalrand.Seed(seed) //lint:ignore SA1019 libraries draw from it, and nothing else seeds it
}

// Pause stops the client's operations and its network. Unlike under SIGSTOP, the timers of its
// library continue, and their messages leave after the resume.
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

// Kill does not wait for the client's goroutines, which end when they notice the kill. A library may sleep for a while, and the
// kill must not take as long.
func (cl *client) Kill(context.Context) error {
	cl.kill()
	cl.leave()
	return nil
}

// Close closes the client. It does not wait for the goroutines of a killed client, because its
// replacement would then start only after a sleep of the dead library.
func (cl *client) Close(ctx context.Context) error {
	if cl.isDead() {
		return nil
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
