package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"lockbench/checker/sweep"
	"lockbench/internal/history"
	"lockbench/locks"
)

// This file hands the sessions of a key to the sweep, and tells what comes back.
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
	for _, f := range a.checker.Findings {
		first, second := a.owned(k, f.First), a.owned(k, f.Second)
		switch f.Rule {
		case sweep.ReleasedWithoutHolding:
			a.nowhere(k, first)
		case sweep.RefusedThoughFree:
			a.refused(k, first)
		case sweep.TwoHolders, sweep.ReaderAndWriter, sweep.TooManyPermits:
			a.late(k, first, second)
		case sweep.ReleasedTwice, sweep.Evicted:
			if a.reentrant() {
				a.deep(k, first, f.Rule)
			}
		}
	}
	return r.Why
}

// owned is a session of a key by its number. Of a reentrant lock numbers are owners,
// and the first session of one stands for it.
func (a *answers) owned(k *asked, n uint32) *history.Session {
	if n == sweep.None {
		return nil
	}
	if !a.reentrant() {
		return k.sessions[n]
	}
	seen := map[string]bool{}
	for _, s := range k.sessions {
		if !seen[s.Owner] {
			if n == 0 {
				return s
			}
			n--
			seen[s.Owner] = true
		}
	}
	return nil
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
	var calls []call
	for i, s := range k.sessions {
		id := uint32(i)
		if m.Reentrant {
			n, ok := owners[s.Owner]
			if !ok {
				n = uint32(len(owners))
				owners[s.Owner] = n
			}
			id = n
		}
		calls = append(calls, a.acquire(s, id))
		if c, ok := a.lapsed(k, s, id); ok {
			calls = append(calls, c)
			continue
		}
		calls = append(calls, a.releases(s, id)...)
	}
	slices.SortFunc(calls, func(x, y call) int { return cmp.Compare(x.call, y.call) })
	return m, calls
}

func (a *answers) acquire(s *history.Session, id uint32) call {
	c := place(s.Acquire)
	c.session, c.aux = id, int64(s.Permits)
	if s.Mode == locks.Shared {
		c.kind = sweep.AcquireShared
	}
	if c.out == sweep.Fail && len(s.Keys) == 1 && s.Acquire.Return < a.durable && a.h.At(s.Acquire.Return).Strict {
		c.out = sweep.StrictFail
	}
	return c
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
	expiry, answered := a.expiry(s, math.MaxInt), -1
	for _, op := range s.Ops {
		switch {
		case op.F == history.Renew && op.Outcome != history.Done, op.F == history.Release && op.Outcome == history.Maybe:
			return call{}, false
		case op.F == history.Release && answered < 0:
			answered = op.Return
			if op.Outcome == history.Failed && a.h.At(op.Return).Error != history.ErrorNotHeld {
				return call{}, false
			}
		}
	}
	if answered <= expiry {
		return call{}, false
	}
	for _, t := range k.sessions {
		if t.Owner == s.Owner && t != s && t.Acquire.Invoke < answered && !a.givenBack(t, s.Acquire.Invoke) {
			return call{}, false
		}
	}
	return call{call: uint32(2*expiry - 1), ret: uint32(2 * answered), session: id, kind: sweep.Release, out: sweep.OK}, true
}

// givenBack tells whether a session certainly holds nothing any more at a position.
func (a *answers) givenBack(s *history.Session, pos int) bool {
	return s.Acquire.Outcome == history.Failed && s.Acquire.Return < pos || slices.ContainsFunc(s.Ops, func(op history.Op) bool {
		return op.F == history.Release && op.Return >= 0 && op.Return < pos &&
			(op.Outcome == history.Done || op.Outcome == history.Failed && a.h.At(op.Return).Error == history.ErrorNotHeld)
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
			if leased && op.Invoke >= expiry && s.Acquire.Outcome == history.Done || c.out == sweep.Fail && (leased || a.h.At(op.Return).Error != history.ErrorNotHeld) {
				c.out, c.ret = sweep.Unknown, sweep.Never
			}
			all = append(all, c)
		}
	}
	return all
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

// nowhere: a release worked, but there is no moment at which its session can have held.
func (a *answers) nowhere(k *asked, s *history.Session) {
	if s == nil {
		return
	}
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done {
			a.found("released-without-holding", s, k.key, op.Return,
				fmt.Sprintf("%s was told at %s that it has released %q, but from %s on, when it asked, it cannot have held it: others did all the time",
					who(s), a.at(op.Return), k.key, a.at(op.Invoke)), nil, op.Invoke, op.Return)
			return
		}
	}
}

// refused: a try was refused for being taken, and nobody can have held.
func (a *answers) refused(k *asked, s *history.Session) {
	if s == nil {
		return
	}
	claim := "because somebody held it, but nobody can have"
	if a.h.Header.Model.Has(history.Semaphore) {
		claim = "for want of permits, but there must have been enough"
	}
	a.found("refused-though-free", s, k.key, s.Acquire.Return,
		fmt.Sprintf("%s was refused %q between %s and %s %s", who(s), k.key,
			a.at(s.Acquire.Invoke), a.at(s.Acquire.Return), claim), nil)
}

// late: two held at once. That is for exclusion to tell, unless the first had asked to
// be released by then, and only a later answer shows that it still held.
func (a *answers) late(k *asked, first, second *history.Session) {
	if first == nil || second == nil {
		return
	}
	asked := false
	for _, op := range first.Ops {
		if op.F != history.Release {
			continue
		}
		if op.Outcome == history.Done && asked && op.Invoke > second.Acquire.Return {
			a.found("released-without-holding", first, k.key, op.Return,
				fmt.Sprintf("%s was told at %s that it has released %q, so an earlier release had not worked; but client %d was granted it at %s",
					who(first), a.at(op.Return), k.key, second.Client, a.at(second.Acquire.Return)), second, op.Invoke, op.Return)
			return
		}
		asked = asked || op.Invoke < second.Acquire.Return
	}
}

// deep: the releases of an owner do not fit its acquires.
func (a *answers) deep(k *asked, s *history.Session, rule sweep.Rule) {
	if s == nil {
		return
	}
	last := s.Acquire.Invoke
	for _, t := range k.sessions {
		if t.Owner != s.Owner {
			continue
		}
		for _, op := range t.Ops {
			if op.F == history.Release && op.Return > last {
				last = op.Return
			}
		}
	}
	a.found(rule.String(), s, k.key, last,
		fmt.Sprintf("the releases of owner %q of %q do not fit what it had acquired", s.Owner, k.key), nil, last)
}
