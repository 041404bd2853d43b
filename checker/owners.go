package checker

import (
	"cmp"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// byOwner has the sessions of each key and of each owner with a name of its own, in the order of their
// acquires. A lock makes its promises to sessions, but many locks count the holds of an owner and cannot
// distinguish them. An answer that is true for the owner is not a violation.
type byOwner map[ownedKey]*owned

// owned lists the sessions of an owner on a key, in the order of their acquires. reads[i] is the last
// position at which any of the first i+1 may be held as a reader, and unheard[i] the same for
// acquires of unknown outcome.
type owned struct {
	all            []*hold.Hold
	reads, unheard []int
}

type ownedKey struct{ owner, key string }

func ownersOf(keys []*hold.Key) byOwner {
	all := byOwner{}
	for _, k := range keys {
		for _, d := range k.All {
			s := d.Session
			if s.Owner == s.Name {
				continue
			}
			o := all[ownedKey{s.Owner, k.Name}]
			if o == nil {
				o = &owned{}
				all[ownedKey{s.Owner, k.Name}] = o
			}
			reads, unheard := -1, -1
			if n := len(o.all); n > 0 {
				reads, unheard = o.reads[n-1], o.unheard[n-1]
			}
			if s.Mode == locks.Shared {
				reads = max(reads, d.Ends.Possible)
			}
			if s.Acquire.Outcome == history.Maybe {
				unheard = max(unheard, d.Ends.Possible)
			}
			o.all, o.reads, o.unheard = append(o.all, d), append(o.reads, reads), append(o.unheard, unheard)
		}
	}
	return all
}

// before returns the sessions of a session's owner, and how many of them were requested before a position.
func (o byOwner) before(d *hold.Hold, key string, pos int) (own *owned, n int) {
	own = o[ownedKey{d.Session.Owner, key}]
	if own == nil {
		return nil, 0
	}
	n, _ = slices.BinarySearchFunc(own.all, pos, func(t *hold.Hold, pos int) int { return cmp.Compare(t.Session.Acquire.Invoke, pos) })
	return own, n
}

// others calls f for the other sessions of a session's owner that were requested before a position and
// not refused, the latest first, until f returns true.
func (o byOwner) others(d *hold.Hold, pos int, f func(t *hold.Hold) (enough bool)) {
	for _, key := range d.Session.Keys {
		own, n := o.before(d, key, pos)
		if n == 0 {
			continue
		}
		for _, t := range slices.Backward(own.all[:n]) {
			if t != d && t.Session.Acquire.Outcome != history.Failed && f(t) {
				return
			}
		}
	}
}

// mayHold reports whether the owner of a session may hold by another session during an operation.
func (o byOwner) mayHold(d *hold.Hold, op history.Op) (may bool) {
	o.others(d, op.Return, func(t *hold.Hold) bool {
		may = !t.GivenBack(op.Invoke)
		return may
	})
	return may
}

// mayRead reports whether the owner of an exclusive session may hold as a reader during the acquire of the session.
func (o byOwner) mayRead(d *hold.Hold) bool {
	return o.may(d, func(own *owned) []int { return own.reads })
}

// mayHaveEntered reports whether the owner of a session may hold, during the acquire of the session, by
// another session whose acquire was never answered.
func (o byOwner) mayHaveEntered(d *hold.Hold) bool {
	return o.may(d, func(own *owned) []int { return own.unheard })
}

func (o byOwner) may(d *hold.Hold, until func(*owned) []int) bool {
	acquire := d.Session.Acquire
	return slices.ContainsFunc(d.Session.Keys, func(key string) bool {
		own, n := o.before(d, key, acquire.Return)
		return n > 0 && until(own)[n-1] >= acquire.Invoke
	})
}

// mayHaveGivenBack reports whether another session of the same owner may have ended a hold by its release. That is
// possible if the other session's acquire never took effect:
//
//	session 1  acquire ok                                                  release: not held
//	session 2              acquire ...(no answer)   release ok
func (o byOwner) mayHaveGivenBack(d *hold.Hold, op history.Op) (may bool) {
	o.others(d, op.Return, func(t *hold.Hold) bool {
		may = t.Session.Acquire.Outcome == history.Maybe && slices.ContainsFunc(t.Session.Ops, func(r history.Op) bool {
			return r.F == history.Release && r.Outcome != history.Failed && r.Invoke < op.Return
		})
		return may
	})
	return may
}

// cameSince reports whether the owner of a session may hold, during an operation, by another session that
// was granted after another client had held.
func (o byOwner) cameSince(d *hold.Hold, op history.Op, m moment) (came bool) {
	o.others(d, op.Return, func(t *hold.Hold) bool {
		if t.Granted() && t.Grant < m.from {
			return true // an owner does one operation at a time, so the remaining sessions are older
		}
		came = !t.GivenBack(op.Invoke)
		return came
	})
	return came
}
