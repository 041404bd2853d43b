package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"lockbench/internal/secret"
	"lockbench/locks"
)

// helloLimit is how long a guest may take until its hello. A JVM starts slowly.
const helloLimit = 2 * time.Minute

// OpenLimit is how long a guest may take to connect to the lock service when there is no fault.
const OpenLimit = time.Minute

// requestsQueued limits the lines that wait for a guest that does not read. Further callers wait until their own limits.
const requestsQueued = 64

// Conn is the host's end of a guest. Its methods may be called from several goroutines; answers may arrive in any order.
//
//	requests  Acquire, ... -> queue -> write goroutine -> w
//	answers   r -> read goroutine -> the call that waits for the id
//	                              -> Lost (notices), Noise (everything else)
//
// A call whose context ends returns at once with an unknown outcome. Conn drops its late answer.
type Conn struct {
	w     io.WriteCloser
	o     ConnOptions
	noise noises
	queue chan []byte

	helloed chan struct{} // closed after the hello
	gone    chan struct{} // closed by fail
	ended   chan struct{} // closed at the end of r
	closeW  sync.Once

	mu      sync.Mutex
	hello   Hello
	lastID  int64
	pending map[int64]pending
	late    map[int64]bool // calls that were given up
	closing bool
	died    bool // it ended instead of answering close
	err     error
}

// pending is a call that waits for its answer.
type pending struct {
	op     string
	asked  time.Duration // the requested lease of an acquire or renew; 0: the lock's own
	wait   time.Duration
	answer chan Answer // has room for one answer
}

// ConnOptions are the options of a Conn. The reading goroutine calls the functions, so they must not wait for answers of
// this guest.
type ConnOptions struct {
	// Noise receives each line that is not part of the protocol, shortened.
	Noise func(line string)
	// Warn receives a description of each kind of noise, once, with advice. If it is nil, Noise receives the description.
	Warn func(text string)
	// Lost receives the guest's notices that a session's lock is lost. Queued receives the notices that a session's
	// acquire entered the lock's queue.
	Lost   func(session string)
	Queued func(session string)
	// Gained returns how far a fault has moved the guest's monotonic clock ahead. Nil: 0.
	Gained func() time.Duration
	// KeyPrefix is put before key names in requests. The history does not contain it.
	KeyPrefix string
	// Mask masks secrets in the guest's texts: errors, noise, nodes, and the name and version in its hello. Words that the
	// protocol knows are not masked.
	Mask *secret.Mask
	// HelloLimit is how long Hello waits; the default is helloLimit.
	HelloLimit time.Duration
	// OpenLimit is how long Open waits; the default is the constant OpenLimit.
	OpenLimit time.Duration
}

// Grant is a guest's answer to a successful acquire.
type Grant struct {
	Until   *time.Duration // the end of the lease, counted from when the guest read the request
	Token   *uint64
	Nodes   []string
	Lease   time.Duration // the length, if the library renews it
	Renewed bool
	Period  time.Duration // between two renewals, if the guest tells
}

// NewConn returns a Conn for the guest with output r and input w. It reads r to the end, and closes w when the guest is
// gone or Close is called. Killing the guest ends r even if the guest does not read.
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
		w: w, o: o, noise: noises{warned: map[string]bool{}}, queue: make(chan []byte, requestsQueued),
		helloed: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{}),
		pending: map[int64]pending{}, late: map[int64]bool{},
	}
	c.noise.o = &c.o
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
		// The guest may have sent its hello and ended.
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

// Open sends the client's number and the addresses of the lock service. It waits at most ConnOptions.OpenLimit.
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
		wrote = fmt.Sprintf("; its first line outside the protocol: %q", first)
	}
	return fmt.Errorf(`open: %w within %v; a guest answers with a line {"id":...,"ok":true} on its standard output, flushed%s`,
		ErrNoAnswer, c.o.OpenLimit, wrote)
}

// Acquire requests a lock for a new session.
func (c *Conn) Acquire(ctx context.Context, session string, r locks.Request) (Grant, error) {
	m := Request{Op: OpAcquire, Session: session, Owner: r.Owner, TTL: int64(r.TTL), Wait: int64(r.Wait)}
	keys := make([]string, len(r.Keys))
	for i, key := range r.Keys {
		if key != "" { // the lock should see and refuse an empty name
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
	return Grant{
		Until: c.untilOf(a, before), Token: a.Token, Nodes: c.masked(a.Nodes),
		Lease: time.Duration(a.Lease), Renewed: a.Renewed, Period: time.Duration(a.Period),
	}, nil
}

// Check asks the client whether it believes that it holds the lock. ErrLost means that it does not.
func (c *Conn) Check(ctx context.Context, session string) error {
	_, err := c.do(ctx, Request{Op: OpCheck, Session: session})
	return err
}

// Touch checks that the client is running.
func (c *Conn) Touch(ctx context.Context, session string) error {
	_, err := c.do(ctx, Request{Op: OpTouch, Session: session})
	return err
}

// Renew extends the lease to ttl from now. Until counts from when the guest read the request; it is nil if the guest does
// not know it. After [locks.ErrUnconfirmed] the client counts on the lease as before.
func (c *Conn) Renew(ctx context.Context, session string, ttl time.Duration) (until *time.Duration, err error) {
	before := c.o.Gained()
	a, err := c.do(ctx, Request{Op: OpRenew, Session: session, TTL: int64(ttl)})
	if err != nil {
		return nil, err
	}
	return c.untilOf(a, before), nil
}

// Release releases the session's lock. It may be repeated after an unknown outcome. [locks.ErrUnconfirmed] is not one.
func (c *Conn) Release(ctx context.Context, session string) error {
	_, err := c.do(ctx, Request{Op: OpRelease, Session: session})
	return err
}

// Close sends close, closes the guest's input and waits for the end of its output. It returns nil if the guest is already
// gone.
func (c *Conn) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	alive := c.err == nil
	c.mu.Unlock()
	_, err := c.do(ctx, Request{Op: OpClose})
	c.endInput()
	c.mu.Lock()
	c.died = c.died || alive && errors.Is(err, ErrGone)
	c.mu.Unlock()
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

// Gone is closed when the guest's output has ended or the guest broke the protocol irreparably.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Err returns the reason why the guest is gone, or nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// DiedInClose reports that the guest ended instead of answering close.
func (c *Conn) DiedInClose() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.died
}

// Heard returns the guest's output that is not part of the protocol.
func (c *Conn) Heard() Noise { return c.noise.heard() }

// do sends a request and waits for its answer. Except for definite errors, an error means an unknown outcome.
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
	if err != nil { // impossible: only strings and numbers
		c.giveUp(r.ID, false)
		return Answer{}, fmt.Errorf("%s: %w", what, err)
	}
	sent := false
	select {
	case c.queue <- append(line, '\n'):
		sent = true
		select {
		case a := <-wait:
			return a, c.wrap(what, errorOf(r.Op, a))
		case <-ctx.Done():
		case <-c.gone:
		}
	case <-ctx.Done():
	case <-c.gone:
	}
	c.giveUp(r.ID, sent)
	select {
	case a := <-wait: // it came in the same moment
		return a, c.wrap(what, errorOf(r.Op, a))
	default:
	}
	if err := c.Err(); err != nil {
		return Answer{}, fmt.Errorf("%s: no answer: %w", what, err)
	}
	return Answer{}, fmt.Errorf("%s: no answer: %w", what, ctx.Err())
}

// wrap returns the error of an answer with its operation.
func (c *Conn) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, c.o.Mask.Error(err))
}

func (c *Conn) masked(texts []string) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		texts[i] = c.o.Mask.Text(text)
	}
	return texts
}

// giveUp stops waiting for an answer. If the request may have been sent, a late answer is expected and not noise.
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

// write is the only goroutine that writes, so that a paused guest does not block callers whose time is over.
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

// fail ends the connection. The first reason is kept.
func (c *Conn) fail(reason error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = fmt.Errorf("%w: %w", ErrGone, reason)
		close(c.gone)
	}
	c.mu.Unlock()
	c.endInput()
}

// Cut ends the connection as a kill does. Output that arrives later is ignored, including awaited answers.
func (c *Conn) Cut(reason error) {
	c.mu.Lock()
	for id := range c.pending {
		delete(c.pending, id)
		c.late[id] = true
	}
	c.mu.Unlock()
	c.fail(reason)
}

// endInput also unblocks a pending write.
func (c *Conn) endInput() { c.closeW.Do(func() { _ = c.w.Close() }) }

// untilOf returns the end of the lease, at least 0: a lease shorter than the library's allowance for drift ends before it
// begins.
//
// The guest counts by its own clock from when it read the request. A fast clock counts the wait for the lock too long, so
// untilOf subtracts what it gained since the request was sent. It does not add what a slow clock lost: a guest that read
// late has lost less, and an end that is too early accuses no lock.
func (c *Conn) untilOf(a Answer, before time.Duration) *time.Duration {
	if a.Until == nil {
		return nil
	}
	d := max(0, time.Duration(*a.Until)-max(0, c.o.Gained()-before))
	return &d
}
