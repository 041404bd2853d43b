package checker

import (
	"math"

	"lockbench/checker/sweep"
	"lockbench/internal/history"
	"lockbench/locks"
)

// This file is about owners that enter again, of a lock whose sweep knows no owners: a
// read-write lock, or one that does not say that it is reentrant.

// inner are the sessions that an owner began while it held, each with the one around it,
// of a lock whose sweep knows no owners. There each would stand against its outer one, so
// they are left out, but for what outlives that; and a refusal that only such a one
// explains is believed:
//
//	owner   acquire ── acquire shared ── release outer ─────────── release
//	other                                               refused
//
// Two readers never stand against each other, also if they are one.
func (a *answers) inner(k *asked) map[*history.Session]*history.Session {
	inner := map[*history.Session]*history.Session{}
	for _, all := range k.byOwner {
		var outer *history.Session // the latest that is not inside another
		until := 0                 // when it may be over
		for _, s := range all {
			within := outer != nil && outer.Acquire.Return < s.Acquire.Invoke && s.Acquire.Invoke < until
			readers := within && outer.Mode == locks.Shared && s.Mode == locks.Shared
			if within && !readers {
				inner[s] = outer
				a.nested[outer], a.nested[s] = true, true
				continue
			}
			if s.Acquire.Outcome != history.Done {
				continue
			}
			ends := a.expiry(s, math.MaxInt)
			for _, op := range s.Ops {
				if op.F == history.Release && (op.Outcome != history.Failed || a.h.At(op.Return).Error == history.ErrorNotHeld) {
					ends = min(ends, op.Invoke)
				}
			}
			if !readers || ends > until {
				outer, until = s, ends
			}
		}
	}
	return inner
}

// gone is the position at which a session was certainly over: its release was answered
// with ok. It is past all of them if there is none.
func gone(s *history.Session) int {
	gone := math.MaxInt
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done && s.Acquire.Outcome == history.Done {
			gone = min(gone, op.Return)
		}
	}
	return gone
}

// outlived is the call of the first release by which an inner session shows that it held
// after the outer one was given back, or -1.
func (a *answers) outlived(s, outer *history.Session) int {
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done && a.givenBack(outer, op.Invoke) && op.Invoke < a.expiry(s, math.MaxInt) {
			return op.Invoke
		}
	}
	return -1
}

// rest is what the sweep is told of an inner session that outlived its outer one: that it
// was there at the end. When it began does not matter to anybody while the outer one held.
func (a *answers) rest(s, outer *history.Session, id uint32) []call {
	acquire := a.acquire(s, id)
	acquire.out, acquire.ret = sweep.Unknown, sweep.Never
	release := place(a.op(s, a.outlived(s, outer)))
	release.kind, release.session = sweep.Release, id
	return []call{acquire, release}
}
