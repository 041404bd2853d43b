package checker

import (
	"cmp"
	"math"
	"slices"

	"lockbench/checker/sweep"
	"lockbench/internal/history"
	"lockbench/locks"
)

// This file hands the sessions of a key to the sweep; answers_told.go tells what comes back.
//
// Positions are doubled, so that what no event stands for has a place: a lease that
// ran out before event n ended at 2n-1. An end that nobody asked for is a release of
// unknown outcome; it may have happened from there on, or not.

// call is an operation before it gets its place in the columns.
type call struct {
	call, ret uint32
	session   uint32
	kind      sweep.Kind
	out       sweep.Out
	aux       int64
	op        history.Op
}

// sweep decides a key, and says what it could not.
func (a *answers) sweep(k *asked) (doubt string) {
	if len(a.h.Events) > math.MaxUint32/2-1 {
		return "the history is too long"
	}
	model, calls := a.calls(k)
	a.ops.Reset()
	for _, c := range calls {
		a.ops.Add(c.call, c.ret, c.session, c.kind, c.out, c.aux)
	}
	r := a.checker.Check(model, &a.ops)
	told := map[sweep.Finding]bool{}
	for _, f := range a.checker.Findings {
		if told[f] {
			continue // of an owner all sessions have been looked at, and it may have a hundred thousand
		}
		told[f] = true
		first, second := k.numbered(f.First), k.numbered(f.Second)
		switch f.Rule {
		case sweep.ReleasedWithoutHolding:
			a.nowhere(k, first)
		case sweep.RefusedThoughFree:
			a.refused(k, first)
		case sweep.TwoHolders, sweep.ReaderAndWriter, sweep.TooManyPermits:
			a.both(k, first, second)
		case sweep.ReleasedTwice, sweep.Evicted:
			// Which hold of an owner that had entered again was meant, nobody knows.
			if a.reentrant() && !slices.ContainsFunc(first, func(s *history.Session) bool { return a.nested[s] }) {
				a.deep(k, first, f.Rule)
			}
		}
	}
	return r.Why
}

// numbered are the sessions that the sweep was given under a number.
func (k *asked) numbered(n uint32) []*history.Session {
	if n == sweep.None {
		return nil
	}
	return k.numbers[n]
}

// calls are the operations of a key in the order of their calls.
func (a *answers) calls(k *asked) (sweep.Model, []call) {
	m := sweep.Model{Reentrant: a.reentrant()}
	switch {
	case a.h.Header.Model.Has(history.Semaphore):
		m.Shape, m.Permits, m.Reentrant = sweep.Semaphore, int64(a.h.Header.Permits), false
	case slices.ContainsFunc(k.sessions, func(s *history.Session) bool { return s.Mode == locks.Shared }):
		m.Shape, m.Reentrant = sweep.RW, false
	}
	owners := map[string]uint32{}
	var inner map[*history.Session]*history.Session
	var hidden []span // in which somebody may have held of whom the sweep is not told
	if !m.Reentrant && m.Shape != sweep.Semaphore {
		inner = a.inner(k)
	}
	var calls []call
	for _, s := range k.sessions {
		outer := inner[s]
		if outer != nil && s.Acquire.Outcome != history.Failed {
			hidden = append(hidden, span{s.Acquire.Invoke, gone(s)})
		}
		outlived := outer != nil && a.outlived(s, outer) >= 0
		if outer != nil && !outlived {
			continue
		}
		id, known := owners[s.Owner]
		if !known || !m.Reentrant {
			id = uint32(len(k.numbers))
			owners[s.Owner] = id
			k.numbers = append(k.numbers, nil)
		}
		k.numbers[id] = append(k.numbers[id], s)
		c, over := a.lapsed(k, s, id)
		switch {
		case outlived:
			calls = append(calls, a.rest(s, outer, id)...)
		case over && a.late(s):
			// It was somebody's at some time before its answer, and is over.
			hidden = append(hidden, span{s.Acquire.Invoke, int(c.ret / 2)})
		case over:
			calls = append(calls, a.acquire(s, id), c)
		default:
			calls = append(append(calls, a.acquire(s, id)), a.releases(s, id)...)
		}
	}
	excuse(calls, hidden)
	slices.SortFunc(calls, func(x, y call) int { return cmp.Compare(x.call, y.call) })
	return m, calls
}

// excuse makes ordinary refusals of strict ones that somebody may explain of whom the
// sweep is not told.
func excuse(calls []call, hidden []span) {
	slices.SortFunc(hidden, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	var apart []span
	for _, h := range hidden {
		apart = extend(apart, h)
	}
	for i := range calls {
		c := &calls[i]
		if c.out != sweep.StrictFail {
			continue
		}
		at, _ := slices.BinarySearchFunc(apart, c.op.Invoke, func(h span, pos int) int { return cmp.Compare(h.to, pos) })
		if at < len(apart) && apart[at].from < c.op.Return {
			c.out = sweep.Fail
		}
	}
}

func (a *answers) acquire(s *history.Session, id uint32) call {
	c := place(s.Acquire)
	c.session, c.aux = id, int64(s.Permits)
	if s.Mode == locks.Shared {
		c.kind = sweep.AcquireShared
	}
	if a.late(s) {
		c.out, c.ret = sweep.Unknown, sweep.Never
	}
	if c.out == sweep.Fail && len(s.Keys) == 1 && s.Acquire.Return < a.durable && a.h.At(s.Acquire.Return).Strict {
		c.out = sweep.StrictFail
	}
	return c
}

// late tells whether a grant was answered after its own lease: it was one at some time
// before, and is over. Nobody can count on it, and nothing speaks against who was granted
// the lock after that lease:
//
//	client 1  acquire ── granted ── its lease ends ──────────── ok
//	client 2                                       acquire ── ok    not while client 1 held
func (l *ledger) late(s *history.Session) bool {
	if s.Acquire.Outcome != history.Done {
		return false
	}
	asked, granted := l.h.At(s.Acquire.Invoke), l.h.At(s.Acquire.Return)
	if granted.Extra != nil && granted.Extra.Renewed {
		return asked.Wait == 0 && granted.Extra.Lease > 0 && later(asked.Time, granted.Extra.Lease) <= granted.Time
	}
	_, deadline := l.deadline(s)
	return deadline <= granted.Time
}

// lapsed is the end of a hold that was its owner's only one, whose lease may have run
// out, and whose owner was given a definite answer to its release after that:
//
//	thread 1  acquire ok        lost    release: not held    acquire ok
//	                   └ it ended at some time in here ┘
//
// Whether the lease ended it or the release did, it is over with the answer, so that
// nothing is unknown of the owner when it comes again.
func (a *answers) lapsed(k *asked, s *history.Session, id uint32) (call, bool) {
	if !a.reentrant() || !a.several(s) || s.Acquire.Outcome != history.Done {
		return call{}, false
	}
	expiry, asked, answered := a.expiry(s, math.MaxInt), -1, -1
	for _, op := range s.Ops {
		switch {
		case op.F == history.Renew && op.Outcome != history.Done, op.F == history.Release && op.Outcome == history.Maybe:
			return call{}, false
		case op.F == history.Release && answered >= 0:
			return call{}, false // one of them is another hold's
		case op.F == history.Release:
			asked, answered = op.Invoke, op.Return
			if op.Outcome == history.Failed && a.h.At(op.Return).Error != history.ErrorNotHeld {
				return call{}, false
			}
		}
	}
	if answered <= expiry {
		return call{}, false
	}
	for _, t := range k.byOwner[s.Owner] {
		if t != s && t.Acquire.Invoke < answered && !a.givenBack(t, s.Acquire.Invoke) {
			return call{}, false
		}
	}
	return call{call: uint32(min(2*expiry-1, 2*asked)), ret: uint32(2 * answered), session: id, kind: sweep.Release, out: sweep.OK}, true
}

// givenBack tells whether a session certainly holds nothing any more at a position.
func (l *ledger) givenBack(s *history.Session, pos int) bool {
	return s.Acquire.Outcome == history.Failed && s.Acquire.Return < pos || slices.ContainsFunc(s.Ops, func(op history.Op) bool {
		return op.F == history.Release && op.Return >= 0 && op.Return < pos &&
			(op.Outcome == history.Done || op.Outcome == history.Failed && l.h.At(op.Return).Error == history.ErrorNotHeld)
	})
}

// releases are those of a session, and the end of its lease. What comes after that end
// is no proof of anything: who released may have found nothing to release.
func (a *answers) releases(s *history.Session, id uint32) []call {
	var all []call
	expiry := a.expiry(s, math.MaxInt)
	leased := expiry < len(a.h.Events)
	// What was refused, or given back, has no lease left to run out. Its owner may hold
	// by then all the same, and that hold is another one.
	over := s.Acquire.Outcome == history.Failed || slices.ContainsFunc(s.Ops, func(op history.Op) bool {
		return op.F == history.Release && op.Outcome == history.Done && op.Return < expiry
	})
	if leased && !over {
		all = append(all, call{call: uint32(2*expiry - 1), ret: sweep.Never, session: id, kind: sweep.Release})
	}
	for _, op := range s.Ops {
		switch {
		case op.F == history.Renew && op.Outcome == history.Failed && a.h.At(op.Return).Error == history.ErrorNotHeld:
			// Its client counts on nothing from there on, whatever the server knows.
			c := place(op)
			c.out, c.ret = sweep.Unknown, sweep.Never
			c.kind, c.session = sweep.Release, id
			all = append(all, c)
		case op.F == history.Release:
			c := place(op)
			c.kind, c.session = sweep.Release, id
			if leased && op.Invoke >= expiry && s.Acquire.Outcome == history.Done || c.out == sweep.Fail && !a.proves(s, op, leased) {
				c.out, c.ret = sweep.Unknown, sweep.Never
			}
			all = append(all, c)
		}
	}
	return all
}

// proves tells whether an answer "not held" proves anything. Of a grant whose lease runs
// out at some time it does while the lease certainly ran; where the owner has but one
// session, that has been told by itself. Of nested ones the other hold may be meant.
func (a *answers) proves(s *history.Session, op history.Op, leased bool) bool {
	if a.h.At(op.Return).Error != history.ErrorNotHeld || a.nested[s] {
		return false
	}
	return !leased || s.Acquire.Outcome == history.Done && a.reentrant() && a.several(s) && a.within(s, op)
}

func place(op history.Op) call {
	c := call{call: uint32(2 * op.Invoke), ret: sweep.Never, op: op}
	switch op.Outcome {
	case history.Done:
		c.out, c.ret = sweep.OK, uint32(2*op.Return)
	case history.Failed:
		c.out, c.ret = sweep.Fail, uint32(2*op.Return)
	}
	return c
}
