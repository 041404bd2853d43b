package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// proven finds releases and renewals that are said to have worked although somebody else
// certainly held in between: after the session's lease had run out, its first release had
// been called, or its loss was told. What was granted before that is for exclusion to
// tell, but for a grant that ran out unused, of which exclusion says nothing. Where the
// session may have ended later than that, it was the grant that was wrong; the answers do
// not fit in either case.
func (a *answers) proven(k *hold.Key) {
	if len(k.All) == 1 {
		return
	}
	moments := a.moments(k)
	slices.SortStableFunc(moments, func(x, y moment) int { return cmp.Compare(x.told(), y.told()) })
	// Of these exclusion says nothing, wherever they began.
	silent := slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return m.hold.Granted() && !unused(m.hold) })
	jump, jumpSilent := jumpsOf(moments), jumpsOf(silent)
	for _, d := range k.Granted {
		if d.Ends.Proven < 0 {
			continue
		}
		next, nextSilent := firstTold(moments, lostBelief(d)), firstTold(silent, d.Grant+1)
		for _, op := range d.Session.Ops {
			if op.Outcome != history.Done || op.F != history.Release && op.F != history.Renew {
				continue
			}
			if a.contradicts(k, d, op, moments, jump, next) || a.contradicts(k, d, op, silent, jumpSilent, nextSilent) {
				break
			}
		}
	}
}

// lostBelief is where the client of a session first lost reason to believe. One whose lease
// had run out when it heard of it never had any, until a renewal worked.
func lostBelief(d *hold.Hold) int {
	if beliefs := d.Least.Beliefs; len(beliefs) > 0 && beliefs[0].From <= d.Grant {
		return max(d.Grant+1, beliefs[0].To)
	}
	return d.Grant + 1
}

// firstTold is the place of the first moment whose client heard of it at a position or later.
func firstTold(moments []moment, pos int) int {
	at, _ := slices.BinarySearchFunc(moments, pos, func(m moment, pos int) int { return cmp.Compare(m.told(), pos) })
	return at
}

// jumps lead from each moment to the next one of another owner, and to the next one that
// is no reader's: an owner may have very many sessions, and a lock very many readers.
type jumps struct{ other, alone []int }

func jumpsOf(moments []moment) jumps {
	n := len(moments)
	j := jumps{make([]int, n), make([]int, n)}
	for i := n - 1; i >= 0; i-- {
		j.other[i], j.alone[i] = i+1, i+1
		if i+1 == n {
			continue
		}
		if moments[i+1].hold.Session.Owner == moments[i].hold.Session.Owner {
			j.other[i] = j.other[i+1]
		}
		if moments[i+1].hold.Session.Mode == locks.Shared {
			j.alone[i] = j.alone[i+1]
		}
	}
	return j
}

// contradicts tells whether somebody held in one of the moments from a place on, before an
// operation that proves that a session held until then, and tells of it.
func (a *answers) contradicts(k *hold.Key, d *hold.Hold, op history.Op, moments []moment, jump jumps, i int) bool {
	for i < len(moments) && moments[i].told() < op.Invoke {
		m, s := moments[i], d.Session
		t := m.hold.Session
		switch {
		case t.Owner == s.Owner:
			i = jump.other[i]
		case t.Mode == locks.Shared && s.Mode == locks.Shared:
			i = jump.alone[i]
		case m.from <= d.Grant || m.to >= op.Invoke || a.owned().cameSince(d, op, m):
			i++
		case !m.hold.Granted() && m.from < lostBelief(d) && m.to < d.Ends.Lapse:
			i++ // d certainly held all the time, so the sweep finds it
		default:
			a.found("released-without-holding", d, k.Name, op.Return,
				fmt.Sprintf("%s was told at %s that it has %s %q, %sclient %d %s", who(s), a.at(op.Return), done(op), k.Name,
					a.whyOver(d, m), t.Client, a.held(m)), m.hold, op.Invoke, op.Return)
			return true
		}
	}
	return false
}

// whyOver says why a session may have been over before somebody else's moment.
func (a *answers) whyOver(d *hold.Hold, m moment) string {
	for _, op := range d.Session.Ops {
		if op.F == history.Release && op.Invoke < m.from {
			return "so an earlier release had not worked; but "
		}
	}
	if first, last := d.LeaseEnd(m.from); first == last && first != hold.Never && a.After(first) <= m.from {
		return "but its lease had run out at " + seconds(first) + " and "
	}
	return "but "
}

// held says how it is known that a session held in a moment.
func (a *answers) held(m moment) string {
	if m.hold.Granted() {
		return "was granted it at " + a.at(m.hold.Grant)
	}
	return "was told at " + a.at(m.to) + " that it has released it"
}
