package trial

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

// pacer is a cluster in virtual time. There, actions of the same instant would happen in any order, and one seed
// would give two histories, so each actor has instants of its own.
type pacer interface {
	// Settle returns in the next instant that belongs to the actor alone: "client-3", "step-2", or any other name.
	Settle(actor string)
	// WriteEvery returns how long events may wait before they are written.
	WriteEvery() time.Duration
}

// pace gives the actors of a run in virtual time instants of their own. In real time it does nothing.
type pace struct{ pacer pacer }

func paceOf(c world.Cluster) pace {
	p, _ := c.(pacer)
	return pace{p}
}

// settle returns in the next instant that belongs to the actor alone.
func (p pace) settle(actor string) {
	if p.pacer != nil {
		p.pacer.Settle(actor)
	}
}

// writeEvery is how long events may wait before they are written; 0: the recorder's default.
func (p pace) writeEvery() time.Duration {
	if p.pacer == nil {
		return 0
	}
	return p.pacer.WriteEvery()
}

func (p pace) step(id int) { p.settle("step-" + strconv.Itoa(id)) }

// client makes a client's thread continue in its own instants after every wait. It wraps
// everything that the workload waits for.
func (p pace) client(c *workloads.Client) {
	if p.pacer == nil {
		return
	}
	actor := history.ClientParty(c.ID).String()
	if c.Thread > 0 {
		actor += "/" + strconv.Itoa(c.Thread)
	}
	all := paced{c.Conn, c.Recorder, c.Hooks, func() { p.settle(actor) }}
	c.Conn, c.Recorder, c.Hooks = all, all, all
}

// paced wraps everything that a client waits for.
type paced struct {
	workloads.Conn
	workloads.Recorder
	workloads.Hooks
	own func()
}

func (p paced) Acquire(ctx context.Context, session string, r locks.Request) (guest.Grant, error) {
	defer p.own()
	return p.Conn.Acquire(ctx, session, r)
}

func (p paced) Check(ctx context.Context, session string) error {
	defer p.own()
	return p.Conn.Check(ctx, session)
}

func (p paced) Touch(ctx context.Context, session string) error {
	defer p.own()
	return p.Conn.Touch(ctx, session)
}

func (p paced) Renew(ctx context.Context, session string, ttl time.Duration) (*time.Duration, error) {
	defer p.own()
	return p.Conn.Renew(ctx, session, ttl)
}

func (p paced) Release(ctx context.Context, session string) error {
	defer p.own()
	return p.Conn.Release(ctx, session)
}

// Record records in the client's own instants. The guarded resource records while it holds
// its mutex, and a goroutine that waits with a mutex held stops virtual time. There the
// instant already belongs to the client, because it calls Touch first.
func (p paced) Record(e history.Event) (int, time.Duration) {
	p.own()
	return p.Recorder.Record(e)
}

func (p paced) Begin(ctx context.Context) {
	p.own()
	p.Hooks.Begin(ctx)
	p.own()
}

func (p paced) Awake(ctx context.Context, client int) {
	defer p.own()
	p.Hooks.Awake(ctx, client)
}

func (p paced) Reached(ctx context.Context, m workloads.Moment) time.Duration {
	defer p.own()
	return p.Hooks.Reached(ctx, m)
}
