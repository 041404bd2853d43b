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

// processStride is the distance between the process numbers of one client. After an unknown outcome a process is retired,
// and its client continues under a new number: client, client + stride, client + 2 strides. If the client has several
// threads, the first process of each is one stride after that of the thread before it, and they advance by as many strides
// as there are threads.
const processStride = 1000

// Conn is a connection to a client process. *guest.Conn is one.
type Conn interface {
	Acquire(ctx context.Context, session string, r locks.Request) (guest.Grant, error)
	Check(ctx context.Context, session string) error
	Touch(ctx context.Context, session string) error
	Renew(ctx context.Context, session string, ttl time.Duration) (*time.Duration, error)
	Release(ctx context.Context, session string) error
}

// Recorder records events in order.
type Recorder interface {
	Record(e history.Event) (index int, at time.Duration)
}

// Hooks are the callbacks of a client into the run.
type Hooks interface {
	// Begin is called before a client requests a lock, and may block. End is called after the client has released it or
	// was refused.
	Begin(ctx context.Context)
	End()
	// Reached may block while a fault is injected. It returns how long the client holds its lock; 0 means the usual time.
	Reached(ctx context.Context, m Moment) (hold time.Duration)
	// HoldsOn reports whether the client is to hold on after that time.
	HoldsOn(session string) bool
	// Awake blocks while the client is paused.
	Awake(ctx context.Context, client int)
	// Overdue is called when an operation has exceeded its limit. The client is killed.
	Overdue(client int, why error)
	// Unknown is called after an acquire with unknown outcome.
	Unknown()
	// Unfit is called when the lock does not support an operation that the workload needs.
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
	// Limit is how long an operation may take, in addition to the wait in the request. After that the client is killed.
	Limit time.Duration
	// Ownerless is set for a lock that cannot recognize an owner. Its requests contain no owner, because the lock would
	// refuse it.
	Ownerless bool
	// Bounded is set for a lock whose leases end by themselves.
	Bounded bool
	// Thread is the number of a thread of the client, from 1, or 0 if the client has only one. See [Client.Threads].
	Thread int

	process  history.Process
	strides  int // from a retired process to the next one; 0: one
	attempts int
	started  bool
	life     *life
}

// Attempt is one attempt and its result.
type Attempt struct {
	c       *Client
	Session string
	Key     string // the first key of several; it selects the counter
	mode    locks.Mode
	form    string
	token   uint64
	fenced  bool
	nodes   []string
	lease   time.Duration
	// end is a lower bound for the end of the lease that the lock reported, or the end as the client counts it from the answer.
	// Zero: unknown.
	end time.Time
	// spare is how much of the lease is left for the release.
	spare time.Duration
	// released reports that a release was answered. Until then it may be repeated.
	released bool
}

// Acquire makes one attempt. A repeated owner means re-entry, and [Client.Owner] is the calling thread; a request without
// an owner never re-enters. The run learns by itself that the request is queued, so Queued is not called. The attempt is
// nil after a definite refusal. After an unknown outcome it can only be released.
func (c *Client) Acquire(ctx context.Context, r locks.Request) (*Attempt, error) {
	c.start()
	if c.Gone() {
		return nil, guest.ErrGone
	}
	if c.Ownerless {
		r.Owner = ""
	}
	c.attempts++
	t := &Attempt{c: c, Session: c.session(), Key: r.Keys[0], mode: r.Mode, form: formPlain}
	e := history.Event{Type: history.Invoke, F: history.Acquire, Session: t.Session, Mode: r.Mode, TTL: r.TTL, Wait: r.Wait}
	e.Owner = r.Owner
	if len(r.Keys) > 1 {
		e.Keys = r.Keys
	} else {
		e.Key = t.Key
	}
	c.record(e)
	if r.Wait > 0 {
		c.Hooks.Reached(ctx, Moment{Event: Asking, Client: c.ID, Session: t.Session, Key: t.Key, Mode: r.Mode})
	}
	c.Hooks.Reached(ctx, Moment{Event: Acquiring, Client: c.ID, Session: t.Session, Key: t.Key, Mode: r.Mode})
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
	t.counts(&e, asked, grant.Until, r.TTL, grant.Renewed)
	if grant.Token != nil {
		e.Token = grant.Token
		t.token, t.fenced, t.form = *grant.Token, true, formFenced
	}
	if len(grant.Nodes) > 0 || grant.Renewed {
		e.Node, e.Lease, e.Renewed, e.Period = strings.Join(grant.Nodes, ","), grant.Lease, grant.Renewed, grant.Period
	}
	t.nodes, t.lease = grant.Nodes, grant.Lease
	c.record(e)
	return t, nil
}

// counts records the end of a lease that was granted now. If the library reports no end, the client counts the ttl from the
// answer, as users of the library do.
func (t *Attempt) counts(e *history.Event, asked time.Time, until *time.Duration, ttl time.Duration, renewed bool) {
	t.spare = ttl / 8
	switch {
	case until != nil:
		e.Until = until
		t.end = asked.Add(*until)
	case ttl > 0 && !renewed && t.c.Bounded:
		e.FromAnswer = true
		t.end = time.Now().Add(ttl)
	}
}

// session returns the name of the next attempt.
func (c *Client) session() string {
	if c.Thread == 0 {
		return fmt.Sprintf("%d.%d", c.ID, c.attempts)
	}
	return fmt.Sprintf("%d-%d.%d", c.ID, c.Thread, c.attempts)
}

// Check asks the client whether it believes that it holds the lock.
func (t *Attempt) Check(ctx context.Context) error {
	return t.call(ctx, history.Event{F: history.Check}, func(ctx context.Context, _ *history.Event) error {
		return t.c.Conn.Check(ctx, t.Session)
	})
}

// Release releases the lock, whatever its state.
func (t *Attempt) Release(ctx context.Context) error {
	if !t.c.Gone() {
		t.Reached(ctx, Releasing)
	}
	err := t.call(ctx, history.Event{F: history.Release}, func(ctx context.Context, _ *history.Event) error {
		return t.c.Conn.Release(ctx, t.Session)
	})
	t.released = err == nil || errors.Is(err, locks.ErrNotHeld)
	return err
}

// Renew extends the lease to ttl from now. It may return ErrUnsupported.
func (t *Attempt) Renew(ctx context.Context, ttl time.Duration) error {
	return t.call(ctx, history.Event{F: history.Renew, TTL: ttl}, func(ctx context.Context, e *history.Event) error {
		asked := time.Now()
		until, err := t.c.Conn.Renew(ctx, t.Session, ttl)
		if err == nil {
			t.counts(e, asked, until, ttl, false)
		}
		return err
	})
}

// Read reads the guarded counter.
func (t *Attempt) Read(ctx context.Context) (int64, error) { return t.touch(ctx, history.FRead, nil) }

// Write sets the guarded counter.
func (t *Attempt) Write(ctx context.Context, value int64) error {
	_, err := t.touch(ctx, history.Write, &value)
	return err
}

// Reached reports an event of this attempt to the run.
func (t *Attempt) Reached(ctx context.Context, event Event) time.Duration {
	return t.c.Hooks.Reached(ctx, Moment{Event: event, Client: t.c.ID, Session: t.Session, Key: t.Key, Mode: t.mode, Nodes: t.nodes, Lease: t.lease})
}

// touch tells the client to access the guarded resource, and applies the read or write after the client has answered. It
// first waits until the client is not paused, because a paused client could not send a request.
func (t *Attempt) touch(ctx context.Context, f string, write *int64) (int64, error) {
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

// call sends one request and records its beginning and its result, to whose event do may add fields. A result that is not
// confirmed is not an error, because the user of such a library goes on.
func (t *Attempt) call(ctx context.Context, e history.Event, do func(ctx context.Context, e *history.Event) error) error {
	// A dead client does nothing, so nothing is recorded.
	if t.c.Gone() {
		return guest.ErrGone
	}
	e.Type, e.Session = history.Invoke, t.Session
	t.c.record(e)
	octx, cancel := t.c.limited(ctx, 0)
	defer cancel()
	err := do(octx, &e)
	e.Unconfirmed = errors.Is(err, locks.ErrUnconfirmed)
	if err != nil && !e.Unconfirmed {
		t.c.fail(octx, e, err)
		return err
	}
	e.Type = history.OK
	t.c.record(e)
	return nil
}

// fail records a return other than ok. The outcome is unknown unless the error is one of the definite failures. An unknown
// outcome retires the process.
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
		if e.F != history.Renew { // a workload may go without renewals
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
			// The client is killed, so its later events do not count.
			c.life.gone.Store(true)
			c.Hooks.Overdue(c.ID, fmt.Errorf("%s took longer than %s", request(e.F), c.Limit))
		}
	}
}

// request returns the name of the request that a guest gets for an operation: it gets a touch for a read as for a
// write.
func request(f string) string {
	if f == history.FRead || f == history.Write {
		return "touch"
	}
	return f
}

func (c *Client) record(e history.Event) {
	e.Process, e.Client = c.process, int32(c.ID)
	c.Recorder.Record(e)
}

// limited limits one operation. The end of the run does not cancel it: operations that have begun are finished and
// recorded.
func (c *Client) limited(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.Limit+wait)
}

func definite(err error) bool {
	return errors.Is(err, locks.ErrTaken) || errors.Is(err, locks.ErrUnsupported)
}
