package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lockbench/checker/hold"
	"lockbench/checker/internal/sweep"
	"lockbench/internal/history"
	"lockbench/locks"
)

// This file passes the sessions of a key to package sweep and reports its findings.
//
// Positions are doubled, so that there is a position between two events: a lease that ran out before event n ended at 2n-1.
// A possible end without a request is a release with unknown outcome, which may take effect at any later time.

// sweep decides a key. If it cannot, it returns the reason.
func (a *answers) sweep(k *hold.Key) (doubt string) {
	if len(a.h.Events) > math.MaxUint32/2-1 {
		return "the history is too long"
	}
	ops, holds := a.ops(k)
	r := sweep.Check(sweep.Model{Reentrant: a.h.Header.Model.Has(history.Reentrant)}, &sweep.Ops{All: ops, Owners: ownerNumbers(holds)})
	for _, f := range r.Findings {
		switch f.Rule {
		case sweep.ReleasedWithoutHolding:
			a.nowhere(k, holds[f.First])
		case sweep.RefusedThoughFree:
			a.refused(k, holds[f.First])
		}
		// [answers.session] and exclusion report the other violations.
	}
	return r.Why
}

// ownerNumbers numbers the owners of some sessions.
func ownerNumbers(holds []*hold.Hold) []uint32 {
	all := make([]uint32, len(holds))
	number := map[string]uint32{}
	for i, d := range holds {
		n, known := number[d.Session.Owner]
		if !known {
			n = uint32(len(number))
			number[d.Session.Owner] = n
		}
		all[i] = n
	}
	return all
}

// ops returns the operations of a key in the order of their calls, and the hold of each session that package sweep gets.
func (a *answers) ops(k *hold.Key) (ops []sweep.Op, holds []*hold.Hold) {
	for _, d := range k.All {
		ops = a.releases(append(ops, a.acquire(d, uint32(len(holds)))), d, uint32(len(holds)))
		holds = append(holds, d)
		for _, r := range a.Revivals(d) {
			ops = a.revival(ops, d, r, uint32(len(holds)))
			holds = append(holds, d)
		}
	}
	slices.SortStableFunc(ops, func(x, y sweep.Op) int { return cmp.Compare(x.Call, y.Call) })
	// Package sweep numbers sessions in the order of their acquires.
	var ordered []*hold.Hold
	number := make([]uint32, len(holds))
	for _, op := range ops {
		if op.Kind != sweep.Release {
			number[op.Session] = uint32(len(ordered))
			ordered = append(ordered, holds[op.Session])
		}
	}
	for i := range ops {
		ops[i].Session = number[ops[i].Session]
	}
	return ops, ordered
}

// revival adds a session of the same owner for a lease that was renewed after its end.
func (a *answers) revival(all []sweep.Op, d *hold.Hold, r hold.Revival, id uint32) []sweep.Op {
	acquire := positions(r.Renewal)
	acquire.Session = id
	if d.Session.Mode == locks.Shared {
		acquire.Kind = sweep.AcquireShared
	}
	all = append(all, acquire)
	if r.Lapse < len(a.h.Events) {
		all = append(all, sweep.Op{Call: uint32(2*r.Lapse - 1), Ret: sweep.Never, Session: id, Kind: sweep.Release})
	}
	for _, op := range d.Session.Ops {
		if op.Invoke < r.Renewal.Return || op.F != history.Release && !(op.F == history.Renew && a.NotHeld(op)) {
			continue
		}
		c := sweep.Op{Call: uint32(2 * op.Invoke), Ret: sweep.Never, Session: id, Kind: sweep.Release}
		if op.F == history.Release && op.Outcome == history.Done {
			c = positions(op)
			c.Kind, c.Session = sweep.Release, id
			if op.Invoke >= r.Lapse {
				c.Out = sweep.Fail // as in [answers.releases]
			}
		}
		all = append(all, c)
	}
	return all
}

// acquire returns the acquire of a session. A grant that was answered after its own lease took effect earlier and is
// over.
func (a *answers) acquire(d *hold.Hold, id uint32) sweep.Op {
	s := d.Session
	c := positions(s.Acquire)
	c.Session = id
	if s.Mode == locks.Shared {
		c.Kind = sweep.AcquireShared
	}
	if a.MayBeLate(d) {
		c.Out, c.Ret = sweep.Unknown, sweep.Never
	}
	if a.strict(s) {
		c.Out = sweep.StrictFail
	}
	return c
}

// releases adds the releases of a session and the end of its lease. An answer after that end shows only that the hold is
// over, and not whether the lease or the release ended it.
//
//	acquire ok, lease 1 s          release ok at 1.5 s
//	                       └─ over at some time in here ┘
func (a *answers) releases(all []sweep.Op, d *hold.Hold, id uint32) []sweep.Op {
	s := d.Session
	if s.Acquire.Outcome == history.Failed {
		return all
	}
	add := func(c sweep.Op) {
		c.Kind, c.Session = sweep.Release, id
		all = append(all, c)
	}
	lapse := d.Ends.Lapse
	if a.MayBeLate(d) && d.Ends.Possible < len(a.h.Events) {
		// The lock was held at some time before the answer, and the hold is over.
		add(sweep.Op{Call: uint32(2*lapse - 1), Ret: uint32(2 * d.Ends.Possible), Out: sweep.OK})
		return all
	}
	if lapse < len(a.h.Events) && d.Ends.Possible >= lapse {
		add(sweep.Op{Call: uint32(2*lapse - 1), Ret: sweep.Never})
	}
	for _, op := range s.Ops {
		c := positions(op)
		switch {
		case op.F == history.Release && a.NotHeld(op):
		case op.F == history.Release && op.Outcome == history.Failed:
			c.Out, c.Ret = sweep.Unknown, sweep.Never // the answer proves nothing about the lock
		case op.F == history.Release && op.Outcome == history.Done && d.Granted() && op.Invoke >= lapse:
			c.Out = sweep.Fail
		case op.F == history.Release:
		case op.F == history.Renew && a.NotHeld(op):
			// The client does not count on the lock from there on, whatever the server knows.
			add(sweep.Op{Call: c.Call, Ret: sweep.Never})
			c.Call++ // two operations cannot have the same position
		default:
			continue
		}
		add(c)
	}
	return all
}

func positions(op history.Op) sweep.Op {
	c := sweep.Op{Call: uint32(2 * op.Invoke), Ret: sweep.Never}
	switch op.Outcome {
	case history.Done:
		c.Out, c.Ret = sweep.OK, uint32(2*op.Return)
	case history.Failed:
		c.Out, c.Ret = sweep.Fail, uint32(2*op.Return)
	}
	return c
}

// nowhere reports a release with ok during which the session cannot have held.
func (a *answers) nowhere(k *hold.Key, d *hold.Hold) {
	s := d.Session
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done {
			a.found("released-without-holding", d, k.Name, op.Return,
				fmt.Sprintf("the lock confirmed at %s that %s has released %q, but from the call at %s on it cannot have held it: other clients did all the time",
					secondsAt(a.ledger, op.Return), client(d, nil), k.Name, secondsAt(a.ledger, op.Invoke)), nil, op.Invoke, op.Return)
			return
		}
	}
}

// refused reports a refusal although no client can have held the lock.
func (a *answers) refused(k *hold.Key, d *hold.Hold) {
	s := d.Session
	a.found("refused-though-free", d, k.Name, s.Acquire.Return,
		fmt.Sprintf("%s was refused %q between %s and %s as taken, but no client can have held it then", client(d, nil), k.Name,
			secondsAt(a.ledger, s.Acquire.Invoke), secondsAt(a.ledger, s.Acquire.Return)), nil)
}
