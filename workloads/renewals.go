package workloads

import (
	"context"
	"errors"
	"time"

	"lockbench/locks"
)

// renewals is a workload of clients that renew their leases themselves. Each works in pieces and renews after every piece:
//
//	acquire ── check ── read v ── write v+1 ─┬─ renew ── read ── write ─┬─ renew ── ... ── release
//	                                         ▲                          ▲
//	                                 event Checked              event Checked
//
// The first request after Checked is the renewal, so a step with `when: checked` and `request: 1` loses or delays that
// request or its answer. In one of three turns the client sleeps until its lease has been over for a while, and then
// renews. By then another client may hold the lock, or may have held it:
//
//	client 1  acquire ── count ──── (asleep) ──────────────── renew    must be not-held
//	          ├────── lease ──────┤
//	client 2                       acquire ── count ── ...
//
// A client whose renewal succeeds continues as the holder, otherwise it releases the lock. A lock without renewals is held
// for one piece of work.
var renewals = Entry{
	Name:  "renewals",
	About: "each client renews its lease after each piece of work, and sometimes only when the lease is over",
	Needs: []Need{needsRenewing}, Wants: wantsTTL,
	New: func(p Params) Workload { return extending{p} },
}

// A hold has up to renewalsMax renewals. One of turnsPerLapse holds lets its lease end first, and its client sleeps
// for a share of the ttl after the end, so that other clients come and go.
const (
	renewalsMax   = 2
	turnsPerLapse = 3
	lapseMin      = 0.05
	lapseMax      = 1.0
)

type extending struct{ Params }

// Run works until ctx ends.
func (w extending) Run(ctx context.Context, c *Client) {
	renews := true // until the lock reports that it cannot renew
	w.turns(ctx, c, func() {
		lapse := c.Rand.IntN(turnsPerLapse) == 0
		times := 1 + c.Rand.IntN(renewalsMax)
		tryOnce(ctx, c, w.ask(c, w.anyKey(c)), func(t *Attempt) {
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
				err := t.Renew(ctx, w.TTL)
				renews = !errors.Is(err, locks.ErrUnsupported)
				if err != nil || !count(ctx, t, hold) {
					return
				}
			}
		})
	})
}

// lapse returns a random time that a client sleeps beyond the end of its lease.
func (w extending) lapse(c *Client) time.Duration {
	return drawn(c, time.Duration(lapseMin*float64(w.TTL)), time.Duration(lapseMax*float64(w.TTL)))
}
