package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

const (
	formPlain  = history.Plain
	formFenced = history.Fenced
)

// processStride separates the process numbers of one client from those of the
// next. A process is retired when an outcome is unknown, and its client goes on
// under a number never used before: client, client + stride, client + 2 strides.
// Of several threads each begins a stride after the one before it, and goes on by
// as many strides as there are threads.
const processStride = 1000

// Conn is the way to a client process; *guest.Conn is one.
type Conn interface {
	Acquire(ctx context.Context, session string, r locks.Request) (guest.Grant, error)
	Check(ctx context.Context, session string) error
	Touch(ctx context.Context, session string) error
	Renew(ctx context.Context, session string, ttl time.Duration) (*time.Duration, error)
	Release(ctx context.Context, session string) error
}

// Recorder takes the events, in order.
type Recorder interface {
	Record(e history.Event) (index int, at time.Duration)
}

// Hooks is how the run listens in.
type Hooks interface {
	// Begin is called before a client asks for a lock, and may block; End when it
	// has given back what it got, or got nothing.
	Begin(ctx context.Context)
	End()
	// Reached may block while a fault strikes, and returns how long the client is
	// to hold its lock; 0 means as usual.
	Reached(ctx context.Context, m Moment) (hold time.Duration)
	// Awake blocks while the client stands still.
	Awake(ctx context.Context, client int)
	// Overdue is called when an operation has run past its limit: the client is killed.
	Overdue(client int, why error)
	// Unknown is called when nobody knows whether an acquire was granted.
	Unknown()
	// Unfit is called when the lock says that it cannot do what the workload asks
	// at all: there is nothing to find out here.
	Unfit(err error)
}

// Client is one client of the workload.
type Client struct {
	ID       int
	Conn     Conn
	Rand     *rand.Rand
	Recorder Recorder
	Guarded  *Guarded
	Hooks    Hooks
	// Limit is how long one operation may take, beyond what the request itself
	// allows to wait. A client past it is killed: it would answer too late to matter.
	Limit time.Duration
	// Ownerless is the client of a lock that does not know the same owner again: none is
	// named to it, for it would have to refuse one.
	Ownerless bool
	// Thread tells the threads of one client apart, from 1; 0: it has only one. See
	// [Client.Threads].
	Thread int

	process  history.Process
	strides  int // from a process that is retired to the next; 0: one
	attempts int
	started  bool
	life     *life
}

// Tenure is one attempt and what came of it.
type Tenure struct {
	c       *Client
	Session string
	Key     string // of several the first, by which the guarded thing goes
	form    string
	token   uint64
	fenced  bool
	nodes   []string
	// end is until when the client was told that it holds, no later than it was: counted
	// from when it was asked. Zero: it was not told.
	end time.Time
	// released says that a release was answered; until then it may be tried again.
	released bool
}

// Acquire tries once. The same owner again means re-entry, and [Client.Owner] is the
// calling thread; who names none is somebody who never asks again. Whether the request
// stands in a queue the run hears by itself, and Queued is not called. The tenure is nil
// after a definite refusal; after an unknown outcome it can only be released.
func (c *Client) Acquire(ctx context.Context, r locks.Request) (*Tenure, error) {
	c.start()
	if c.Gone() {
		return nil, guest.ErrGone
	}
	if c.Ownerless {
		r.Owner = ""
	}
	c.attempts++
	t := &Tenure{c: c, Session: c.session(), Key: r.Keys[0], form: formPlain}
	e := history.Event{Type: history.Invoke, F: history.Acquire, Session: t.Session, Mode: r.Mode, TTL: r.TTL, Wait: r.Wait}
	e.Owner = r.Owner
	if len(r.Keys) > 1 {
		e.Keys = r.Keys
	} else {
		e.Key = t.Key
	}
	c.record(e)
	if r.Wait > 0 {
		c.Hooks.Reached(ctx, Moment{Event: Asking, Client: c.ID, Session: t.Session, Key: t.Key})
	}
	c.Hooks.Reached(ctx, Moment{Event: Acquiring, Client: c.ID, Session: t.Session, Key: t.Key})
	octx, cancel := c.limited(ctx, r.Wait)
	defer cancel()
	asked := time.Now()
	grant, err := c.Conn.Acquire(octx, t.Session, r)
	e = history.Event{F: history.Acquire, Session: t.Session}
	if err != nil {
		c.fail(octx, e, err)
		if definite(err) {
			return nil, err
		}
		return t, err
	}
	e.Type = history.OK
	if grant.Until != nil {
		e.Until = grant.Until
		t.end = asked.Add(*grant.Until)
	}
	if grant.Token != nil {
		e.Token = grant.Token
		t.token, t.fenced, t.form = *grant.Token, true, formFenced
	}
	if len(grant.Nodes) > 0 || grant.Renewed {
		e.Node, e.Lease, e.Renewed = strings.Join(grant.Nodes, ","), grant.Lease, grant.Renewed
	}
	t.nodes = grant.Nodes
	c.record(e)
	return t, nil
}

// session names the attempt.
func (c *Client) session() string {
	if c.Thread == 0 {
		return fmt.Sprintf("%d.%d", c.ID, c.attempts)
	}
	return fmt.Sprintf("%d-%d.%d", c.ID, c.Thread, c.attempts)
}

// Check asks the client whether it runs and still believes that it holds.
func (t *Tenure) Check(ctx context.Context) error {
	return t.call(ctx, history.Check, func(ctx context.Context) error { return t.c.Conn.Check(ctx, t.Session) })
}

// Release gives the lock back, whatever is known of it.
func (t *Tenure) Release(ctx context.Context) error {
	if !t.c.Gone() {
		t.Reached(ctx, Releasing)
	}
	err := t.call(ctx, history.Release, func(ctx context.Context) error { return t.c.Conn.Release(ctx, t.Session) })
	t.released = err == nil || errors.Is(err, locks.ErrNotHeld)
	return err
}

// Renew moves the end of the lease to ttl from now. A lock that cannot does not fit the
// workload.
func (t *Tenure) Renew(ctx context.Context, ttl time.Duration) error {
	err := t.Extend(ctx, ttl)
	if errors.Is(err, locks.ErrUnsupported) {
		t.c.Hooks.Unfit(err)
	}
	return err
}

// Extend is Renew for a workload that does without: that a lock cannot is an answer as
// any other.
func (t *Tenure) Extend(ctx context.Context, ttl time.Duration) error {
	if t.c.Gone() {
		return guest.ErrGone
	}
	e := history.Event{Type: history.Invoke, F: history.Renew, Session: t.Session, TTL: ttl}
	t.c.record(e)
	octx, cancel := t.c.limited(ctx, 0)
	defer cancel()
	asked := time.Now()
	until, err := t.c.Conn.Renew(octx, t.Session, ttl)
	if err != nil {
		t.c.fail(octx, e, err)
		return err
	}
	e.Type = history.OK
	if until != nil {
		e.Until = until
		t.end = asked.Add(*until)
	}
	t.c.record(e)
	return nil
}

// Read lets the client touch the guarded counter and returns what it saw.
func (t *Tenure) Read(ctx context.Context) (int64, error) { return t.touch(ctx, history.FRead, nil) }

// Write lets the client set the guarded counter.
func (t *Tenure) Write(ctx context.Context, value int64) error {
	_, err := t.touch(ctx, history.Write, &value)
	return err
}

// Reached tells the run where this tenure stands.
func (t *Tenure) Reached(ctx context.Context, event Event) time.Duration {
	return t.c.Hooks.Reached(ctx, Moment{Event: event, Client: t.c.ID, Session: t.Session, Key: t.Key, Nodes: t.nodes})
}

// touch tells the client to touch the guarded thing, and applies the read or the
// write when it has answered. A client that stands still is not told: the request
// of a real client would leave it only after it woke, so that is when it begins.
func (t *Tenure) touch(ctx context.Context, f string, write *int64) (int64, error) {
	if t.c.Gone() {
		return 0, guest.ErrGone
	}
	t.c.Hooks.Awake(ctx, t.c.ID)
	e := history.Event{Type: history.Invoke, F: f, Session: t.Session, Resource: t.form}
	if t.fenced {
		e.Token = &t.token
	}
	e.Value = write
	t.c.record(e)
	octx, cancel := t.c.limited(ctx, 0)
	defer cancel()
	if err := t.c.Conn.Touch(octx, t.Session); err != nil {
		t.c.fail(octx, e, err)
		return 0, err
	}
	return t.c.Guarded.Touch(t.Key, t.form, t.token, write, func(value int64, err error) {
		if err != nil {
			e.Type, e.Error = history.Fail, history.ErrorStaleToken
		} else {
			e.Type, e.Value = history.OK, new(value)
		}
		t.c.record(e)
	})
}

func (t *Tenure) call(ctx context.Context, f string, do func(context.Context) error) error {
	// The dead do nothing more, and what they do not do is not recorded.
	if t.c.Gone() {
		return guest.ErrGone
	}
	e := history.Event{Type: history.Invoke, F: f, Session: t.Session}
	t.c.record(e)
	octx, cancel := t.c.limited(ctx, 0)
	defer cancel()
	err := do(octx)
	if err != nil {
		t.c.fail(octx, e, err)
		return err
	}
	e.Type = history.OK
	t.c.record(e)
	return nil
}

// fail records a return that is no ok. Unknown is the default; a definite failure
// is one of the sentinels. An unknown outcome retires the process.
func (c *Client) fail(octx context.Context, e history.Event, err error) {
	e.Type, e.Error = history.Info, err.Error()
	switch {
	case errors.Is(err, locks.ErrTaken):
		e.Type, e.Error = history.Fail, history.ErrorTaken
	case errors.Is(err, locks.ErrNotHeld):
		e.Type, e.Error = history.Fail, history.ErrorNotHeld
	case errors.Is(err, guest.ErrLost):
		e.Type, e.Error = history.Fail, history.ErrorLost
	case errors.Is(err, locks.ErrUnsupported):
		e.Type = history.Fail
		if e.F != history.Renew { // see Renew
			c.Hooks.Unfit(err)
		}
	case errors.Is(err, guest.ErrGone):
		c.life.gone.Store(true)
	}
	e.TTL = 0
	c.record(e)
	if e.Type == history.Info {
		if e.F == history.Acquire {
			c.Hooks.Unknown()
		}
		c.process += history.Process(max(c.strides, 1) * processStride)
		if octx.Err() != nil {
			// Killed: whatever it does from now on, nobody will have done it.
			c.life.gone.Store(true)
			c.Hooks.Overdue(c.ID, fmt.Errorf("%s took longer than %s", e.F, c.Limit))
		}
	}
}

func (c *Client) record(e history.Event) {
	e.Process, e.Client = c.process, int32(c.ID)
	c.Recorder.Record(e)
}

// limited bounds one operation. It does not hear the end of the run: what has been
// begun is finished and recorded, and the limit is what ends a client that hangs.
func (c *Client) limited(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.Limit+wait)
}

func definite(err error) bool {
	return errors.Is(err, locks.ErrTaken) || errors.Is(err, locks.ErrUnsupported)
}
