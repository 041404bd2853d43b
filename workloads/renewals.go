package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// renewals is the counter of clients that renew their leases by hand. Each works in pieces
// and renews after every one:
//
//	acquire ── check ── read v ── write v+1 ─┬─ renew ── read ── write ─┬─ renew ── ... ── release
//	                                         ▲                          ▲
//	                            here the moment Checked is reached, and here
//
// The first request after Checked is the renewal, so a step with `when: checked` and
// `request: 1` loses or delays that request or its answer. In one turn out of three the client
// sleeps until its lease has been over for a while, and renews then. By that time another
// client may hold the lock, or may have held it:
//
//	client 1  acquire ── count ──── (asleep) ──────────────── renew    must be not-held
//	          ├────── lease ──────┤
//	client 2                       acquire ── count ── ...
//
// A client that hears ok goes on as the holder, and a client that hears anything else
// gives the lock back. A lock without renewals is held for one piece of work.
var renewals = Entry{
	Name:  "renewals",
	About: "each client renews its lease after each piece of work, and sometimes only when the lease is over",
	Wants: wantsTTL,
	New:   func(p Params) Workload { return extending{p} },
}

// A tenure has up to renewalsMax renewals. One tenure out of turnsPerLapse lets its lease run
// out first, and its client sleeps for a share of the ttl beyond the end: long enough that
// others come and go.
const (
	renewalsMax   = 2
	turnsPerLapse = 3
	lapseMin      = 0.05
	lapseMax      = 1.0
)

// extending is the workload of [renewals].
type extending struct{ Params }

// Run renews until ctx ends.
func (w extending) Run(ctx context.Context, c *Client) {
	renews := true // until the lock says that it cannot
	w.turns(ctx, c, func() {
		lapse := c.Rand.IntN(turnsPerLapse) == 0
		times := 1 + c.Rand.IntN(renewalsMax)
		tryOnce(ctx, c, w.ask(c, w.anyKey(c)), func(t *Tenure) {
			hold := w.started(ctx, t)
			if !count(ctx, t, hold) || !renews {
				return
			}
			if lapse && !t.end.IsZero() {
				times = 1
				pause(ctx, time.Until(t.end)+w.lapse(c))
			}
			for range times {
				if ctx.Err() != nil {
					return
				}
				t.Reached(ctx, Checked)
				err := t.Extend(ctx, w.TTL)
				renews = !errors.Is(err, locks.ErrUnsupported)
				if err != nil || !count(ctx, t, hold) {
					return
				}
			}
		})
	})
}

// lapse draws how long a client sleeps beyond the end of its lease.
func (w extending) lapse(c *Client) time.Duration {
	return drawn(c, time.Duration(lapseMin*float64(w.TTL)), time.Duration(lapseMax*float64(w.TTL)))
}
