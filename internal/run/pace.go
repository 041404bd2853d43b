package run

import (
	"context"
	"strconv"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// pace gives the actors of a run in virtual time instants of their own. In real
// time, where the clock does that, it does nothing.
type pace struct{ pacer world.Pacer }

func paceOf(c world.Cluster) pace {
	p, _ := c.(world.Pacer)
	return pace{p}
}

// settle returns in the next instant that is the actor's own.
func (p pace) settle(actor string) {
	if p.pacer != nil {
		p.pacer.Settle(actor)
	}
}

// delayMax is how long events may wait before they are written. In virtual time two
// milliseconds are nothing, and writing so often would be most of what a run costs.
// The odd rest keeps the writer from waking in an instant in which somebody records:
// what it then sees would be a matter of luck.
func (p pace) delayMax() time.Duration {
	if p.pacer == nil {
		return 0
	}
	return 250*time.Millisecond + 50_007*time.Nanosecond
}

func (p pace) step(id int) { p.settle("step-" + strconv.Itoa(id)) }

// client lets a client of a workload go on, after every wait, in its own instants
// only. The workload knows nothing of it: what it waits for passes through here.
func (p pace) client(w *workloads.Client) *workloads.Client {
	if p.pacer == nil {
		return w
	}
	conn, recorder, hooks := w.Conn, w.Recorder, w.Hooks
	pass := func(w *workloads.Client, own func()) {
		w.Conn, w.Recorder, w.Hooks = pacedConn{conn, own}, pacedRecorder{recorder, own}, pacedHooks{hooks, own}
	}
	pass(w, func() { p.settle(world.ClientName(w.ID)) })
	// The threads of a client are actors of their own.
	w.Paced = func(thread int, t *workloads.Client) {
		pass(t, func() { p.settle(world.ClientName(t.ID) + "/" + strconv.Itoa(thread)) })
	}
	return w
}

// pacedRecorder records in the client's own instants. Where the guarded thing
// records, under its mutex, the instant is the client's already, since a touch went
// before: nobody must wait with a mutex held, or virtual time stands still.
type pacedRecorder struct {
	workloads.Recorder
	own func()
}

func (r pacedRecorder) Record(e history.Event) (int, time.Duration) {
	r.own()
	return r.Recorder.Record(e)
}

// pacedConn returns from each exchange with the client in the client's own instants.
type pacedConn struct {
	workloads.Conn
	own func()
}

func (c pacedConn) Acquire(ctx context.Context, session string, r locks.Request) (guest.Grant, error) {
	g, err := c.Conn.Acquire(ctx, session, r)
	c.own()
	return g, err
}

func (c pacedConn) Check(ctx context.Context, session string) error {
	err := c.Conn.Check(ctx, session)
	c.own()
	return err
}

func (c pacedConn) Touch(ctx context.Context, session string) error {
	err := c.Conn.Touch(ctx, session)
	c.own()
	return err
}

func (c pacedConn) Renew(ctx context.Context, session string, ttl time.Duration) (*time.Duration, error) {
	until, err := c.Conn.Renew(ctx, session, ttl)
	c.own()
	return until, err
}

func (c pacedConn) Release(ctx context.Context, session string) error {
	err := c.Conn.Release(ctx, session)
	c.own()
	return err
}

type pacedHooks struct {
	workloads.Hooks
	own func()
}

func (h pacedHooks) Begin(ctx context.Context) {
	h.own()
	h.Hooks.Begin(ctx)
	h.own()
}

func (h pacedHooks) Awake(ctx context.Context, client int) {
	h.Hooks.Awake(ctx, client)
	h.own()
}

func (h pacedHooks) Reached(ctx context.Context, m workloads.Moment) time.Duration {
	hold := h.Hooks.Reached(ctx, m)
	h.own()
	return hold
}
