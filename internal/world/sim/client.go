package sim

import (
	"context"
	"errors"
	"fmt"
	globalrand "math/rand"
	"math/rand/v2"
	"sync"

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

var _ world.Client = (*client)(nil)

var errKilled = errors.New("it was killed")

// Open starts a client.
func (c *cluster) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	cl, err := c.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", history.ClientParty(s.ID), err)
	}
	return cl, nil
}

func (c *cluster) open(ctx context.Context, s world.ClientSpec) (*client, error) {
	cl := &client{cluster: c, id: s.ID, name: history.ClientParty(s.ID).String(), dead: make(chan struct{}), gone: make(chan struct{})}
	opener := s.Opener
	c.Opened(s)
	switch {
	case s.Command != "":
		return nil, fmt.Errorf("%w: a guest is a process of its own, and its time cannot be simulated", world.ErrUnsupportedHere)
	case opener == nil && c.world.options.Open == nil:
		return nil, fmt.Errorf("%w: this simulation was made without a list of locks", world.ErrUnsupportedHere)
	case opener == nil:
		var err error
		opener, err = c.world.options.Open(s.Lock, s.Options)
		if errors.Is(err, locks.ErrUnsupported) {
			return nil, fmt.Errorf("%w: %w", world.ErrUnsupportedHere, err)
		}
		if err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	if _, used := c.clients[s.ID]; used {
		c.mu.Unlock()
		return nil, errors.New("this number was used before, and the links of two clients would be one")
	}
	c.clients[s.ID] = nil
	c.mu.Unlock()
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
	cl.conn, cl.stop = guest.InProcess(life, hello, opener, known, &cl.gate, guest.ConnOptions{Noise: s.Log, Lost: cl.alive(s.Lost), Queued: cl.alive(s.Queued)})
	c.mu.Lock()
	c.clients[s.ID] = cl
	c.mu.Unlock()
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
		for _, p := range cl.cluster.net.pairsWith(func(at slot) bool { return at.client == cl.name }) {
			p.abandon()
		}
	})
	cl.leave()
	return nil
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

// alive lets a notice through as long as the client lives.
func (cl *client) alive(notice func(session string)) func(session string) {
	if notice == nil {
		return nil
	}
	return func(session string) {
		select {
		case <-cl.dead:
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
