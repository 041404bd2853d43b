package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"lockbench/locks"
)

// helloLimit is how long a guest has to say hello: a JVM takes its time.
const helloLimit = 2 * time.Minute

// OpenLimit is how long a guest has to connect to the lock service while no fault
// is in its way.
const OpenLimit = time.Minute

// requestsQueued bounds the lines that wait for a guest that does not read; more
// callers wait until their own limits end.
const requestsQueued = 64

// Conn is the host's end of a guest. Its methods may be called from many
// goroutines at once; answers may come in any order.
//
//	requests  Acquire, ... -> queue -> write goroutine -> w
//	answers   r -> read goroutine -> the call that waits for the id
//	                              -> Lost (notices), Noise (everything else)
//
// A call whose context ends returns at once with an unknown outcome; a late
// answer to it is dropped.
type Conn struct {
	w     io.WriteCloser
	o     ConnOptions
	queue chan []byte

	helloed chan struct{} // closed when hello has come
	gone    chan struct{} // closed by fail
	ended   chan struct{} // closed when r has ended
	closeW  sync.Once

	mu      sync.Mutex
	hello   Hello
	lastID  int64
	pending map[int64]pending
	late    map[int64]bool // asked and given up
	noise   Noise
	warned  map[string]bool
	closing bool
	err     error
}

// pending is a call that waits for its answer.
type pending struct {
	op     string
	asked  time.Duration // the lease of an acquire or renew; 0: the lock's own
	wait   time.Duration
	answer chan Answer // of one
}

// ConnOptions are what a Conn tells beside the answers. The functions are called
// from the goroutine that reads, so they must not wait for answers of this guest.
type ConnOptions struct {
	// Noise hears each line that is no part of the protocol, cut at some length.
	Noise func(line string)
	// Warn hears, once for each kind of noise, what it is and what to do about it.
	// Nil: Noise hears it.
	Warn func(text string)
	// Lost hears the guest's notices that a session's lock is lost, and Queued those
	// that a session's acquire stands in the lock's queue.
	Lost   func(session string)
	Queued func(session string)
	// Gained is by how much the guest's steady clock is ahead of the right one. Nil: nothing.
	Gained func() time.Duration
	// KeyPrefix stands before the names that the guest is told, and in no history.
	KeyPrefix string
	// HelloLimit is how long Hello waits; 0 means helloLimit.
	HelloLimit time.Duration
	// OpenLimit is how long Open waits; 0 means the constant OpenLimit.
	OpenLimit time.Duration
}

// Grant is what a guest tells of a lock that it got.
type Grant struct {
	Until   *time.Duration // from the moment the request was read to the lease's end
	Token   *uint64
	Nodes   []string
	Lease   time.Duration // of a lease that the library renews
	Renewed bool
}

// NewConn talks to the guest whose output is r and whose input is w. It reads r
// until it ends, and closes w when the guest is gone or Close is called. To end a
// guest that does not listen, end its output: kill it.
func NewConn(r io.Reader, w io.WriteCloser, o ConnOptions) *Conn {
	if o.HelloLimit == 0 {
		o.HelloLimit = helloLimit
	}
	if o.OpenLimit == 0 {
		o.OpenLimit = OpenLimit
	}
	if o.Noise == nil {
		o.Noise = func(string) {}
	}
	if o.Warn == nil {
		o.Warn = o.Noise
	}
	if o.Lost == nil {
		o.Lost = func(string) {}
	}
	if o.Queued == nil {
		o.Queued = func(string) {}
	}
	if o.Gained == nil {
		o.Gained = func() time.Duration { return 0 }
	}
	c := &Conn{
		w: w, o: o, queue: make(chan []byte, requestsQueued),
		helloed: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{}),
		pending: map[int64]pending{}, late: map[int64]bool{}, warned: map[string]bool{},
	}
	go c.read(newLines(r))
	go c.write()
	return c
}

// Hello waits for the guest's first line.
func (c *Conn) Hello(ctx context.Context) (Hello, error) {
	limit := time.NewTimer(c.o.HelloLimit)
	defer limit.Stop()
	select {
	case <-c.helloed:
	case <-c.gone:
		// Both may be true of a guest that said hello and ended.
		select {
		case <-c.helloed:
		default:
			return Hello{}, fmt.Errorf("wait for the guest's hello: %w", c.Err())
		}
	case <-limit.C:
		return Hello{}, fmt.Errorf("wait for the guest's hello: nothing came within %v; "+
			`a guest begins with a line {"hello":%q,"name":...,"family":...} on its standard output, flushed`,
			c.o.HelloLimit, ProtocolVersion)
	case <-ctx.Done():
		return Hello{}, fmt.Errorf("wait for the guest's hello: %w", ctx.Err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello, nil
}

// Open tells the guest who it is and where the lock service is. It waits for the answer
// no longer than ConnOptions.OpenLimit.
func (c *Conn) Open(ctx context.Context, r Request) error {
	limited, cancel := context.WithTimeout(ctx, c.o.OpenLimit)
	defer cancel()
	r.Op = OpOpen
	_, err := c.do(limited, r)
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	wrote := ""
	if first := c.Heard().First; first != "" {
		wrote = fmt.Sprintf("; its first line that is not of the protocol: %q", first)
	}
	return fmt.Errorf(`open: %w within %v; a guest answers with a line {"id":...,"ok":true} on its standard output, flushed%s`,
		ErrNoAnswer, c.o.OpenLimit, wrote)
}

// Acquire asks for a lock in the name of a session that was never used before.
func (c *Conn) Acquire(ctx context.Context, session string, r locks.Request) (Grant, error) {
	m := Request{Op: OpAcquire, Session: session, Owner: r.Owner, TTL: int64(r.TTL), Wait: int64(r.Wait)}
	keys := make([]string, len(r.Keys))
	for i, key := range r.Keys {
		if key != "" { // a name that is none stays so, for the lock to refuse
			keys[i] = c.o.KeyPrefix + key
		}
	}
	if len(keys) == 1 {
		m.Key = keys[0]
	} else {
		m.Keys = keys
	}
	if r.Mode != locks.Exclusive {
		m.Mode = r.Mode.String()
	}
	before := c.o.Gained()
	a, err := c.do(ctx, m)
	if err != nil {
		return Grant{}, err
	}
	return Grant{Until: c.untilOf(a, before), Token: a.Token, Nodes: a.Nodes, Lease: time.Duration(a.Lease), Renewed: a.Renewed}, nil
}

// Check asks whether the client runs and still believes that it holds; ErrLost: no longer.
func (c *Conn) Check(ctx context.Context, session string) error {
	_, err := c.do(ctx, Request{Op: OpCheck, Session: session})
	return err
}

// Touch asks whether the client runs: it goes on with what it has decided to do.
func (c *Conn) Touch(ctx context.Context, session string) error {
	_, err := c.do(ctx, Request{Op: OpTouch, Session: session})
	return err
}

// Renew moves the end of the session's lease to ttl from now. Until counts from
// the moment the request was read; it is nil if the guest does not know it.
func (c *Conn) Renew(ctx context.Context, session string, ttl time.Duration) (until *time.Duration, err error) {
	before := c.o.Gained()
	a, err := c.do(ctx, Request{Op: OpRenew, Session: session, TTL: int64(ttl)})
	if err != nil {
		return nil, err
	}
	return c.untilOf(a, before), nil
}

// Release gives the session's lock back. After an unknown outcome it may be called again.
func (c *Conn) Release(ctx context.Context, session string) error {
	_, err := c.do(ctx, Request{Op: OpRelease, Session: session})
	return err
}

// Close ends the guest in good order: it sends close, ends the guest's input and
// waits until its output has ended. It returns nil for a guest that is gone already.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	_, err := c.do(ctx, Request{Op: OpClose})
	c.endInput()
	select {
	case <-c.ended:
	case <-ctx.Done():
		return fmt.Errorf("close the guest: its output has not ended: %w", ctx.Err())
	}
	if err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("close the guest: %w", err)
	}
	return nil
}

// Gone is closed when the guest's output has ended or it broke the protocol beyond repair.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Err says why the guest is gone; nil while it is there.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Noise tells how many lines were no part of the protocol.
func (c *Conn) Noise() int { return c.Heard().Lines }

// Heard tells what the guest wrote that is no part of the protocol.
func (c *Conn) Heard() Noise {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noise
}

// Noise is what a guest wrote that is no part of the protocol.
type Noise struct {
	Lines  int
	First  string // the first of them, cut at some length
	Advice string // what is wrong with the first, what to do, and the line itself
}

// do sends a request and waits for its answer. Every error but the definite ones
// means that the outcome is unknown.
func (c *Conn) do(ctx context.Context, r Request) (Answer, error) {
	what := r.Op
	if r.Session != "" {
		what += " of session " + r.Session
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, fmt.Errorf("%s: not sent: %w", what, err)
	}
	wait := make(chan Answer, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return Answer{}, fmt.Errorf("%s: not sent: %w", what, c.err)
	}
	c.lastID++
	r.ID = c.lastID
	c.pending[r.ID] = pending{op: r.Op, asked: time.Duration(r.TTL), wait: time.Duration(r.Wait), answer: wait}
	c.mu.Unlock()

	line, err := json.Marshal(r)
	if err != nil { // strings and numbers alone: cannot be
		c.giveUp(r.ID, false)
		return Answer{}, fmt.Errorf("%s: %w", what, err)
	}
	sent := false
	select {
	case c.queue <- append(line, '\n'):
		sent = true
		select {
		case a := <-wait:
			return a, wrap(what, errorOf(r.Op, a))
		case <-ctx.Done():
		case <-c.gone:
		}
	case <-ctx.Done():
	case <-c.gone:
	}
	c.giveUp(r.ID, sent)
	select {
	case a := <-wait: // it came in the same moment
		return a, wrap(what, errorOf(r.Op, a))
	default:
	}
	if err := c.Err(); err != nil {
		return Answer{}, fmt.Errorf("%s: no answer: %w", what, err)
	}
	return Answer{}, fmt.Errorf("%s: no answer: %w", what, ctx.Err())
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// giveUp ends the wait for an answer. If the request may have been sent, its
// answer may still come, and then it is no noise.
func (c *Conn) giveUp(id int64, sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pending[id]; ok {
		delete(c.pending, id)
		if sent {
			c.late[id] = true
		}
	}
}

// write is the one goroutine that writes, so that a guest which does not read
// (a stopped one) holds up nobody whose time is over.
func (c *Conn) write() {
	for {
		select {
		case line := <-c.queue:
			if _, err := c.w.Write(line); err != nil {
				c.fail(fmt.Errorf("write to it: %w", err))
				return
			}
		case <-c.gone:
			return
		}
	}
}

// fail ends the connection for everybody; the first reason stays.
func (c *Conn) fail(reason error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = fmt.Errorf("%w: %w", ErrGone, reason)
		close(c.gone)
	}
	c.mu.Unlock()
	c.endInput()
}

// Cut ends the connection as a kill does: what the guest says from now on is not heard,
// not even the answers that are waited for.
func (c *Conn) Cut(reason error) {
	c.mu.Lock()
	for id := range c.pending {
		delete(c.pending, id)
		c.late[id] = true
	}
	c.mu.Unlock()
	c.fail(reason)
}

// endInput also frees a write that stands.
func (c *Conn) endInput() { c.closeW.Do(func() { _ = c.w.Close() }) }

// untilOf clamps at 0 (over already): a lease that is shorter than what its
// library allows for drift ends before it begins.
//
// The guest counts by its own clock from when it read the request, and a fast clock counts
// its wait for the lock too long. So what it gained since the request was sent is taken
// off. What a slow one lost is not added: a guest that read late has lost less since, and
// an end that is told too early blames no lock.
func (c *Conn) untilOf(a Answer, before time.Duration) *time.Duration {
	if a.Until == nil {
		return nil
	}
	d := max(0, time.Duration(*a.Until)-max(0, c.o.Gained()-before))
	return &d
}
