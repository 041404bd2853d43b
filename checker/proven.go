package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// proven finds releases and renewals that were answered with ok although another client
// certainly held in between: after the session's lease had run out, after its first release was
// called, or after a notice of its loss. Exclusion reports earlier grants, except grants whose lease
// ended unused. If the session may have ended later than the other grant, that grant was wrong. In
// either case the answers contradict each other.
func (a *answers) proven(k *hold.Key) {
	if len(k.All) == 1 {
		return
	}
	moments := moments(a.ledger, k)
	slices.SortStableFunc(moments, func(x, y moment) int { return cmp.Compare(x.seenFrom(), y.seenFrom()) })
	// Exclusion does not report these, at any position.
	silent := slices.DeleteFunc(slices.Clone(moments), func(m moment) bool { return m.hold.Granted() && !unused(m.hold) })
	for _, d := range k.Granted {
		if d.Ends.Proven < 0 {
			continue
		}
		later, laterSilent := moments[firstTold(moments, lostBelief(d)):], silent[firstTold(silent, d.Grant+1):]
		for _, op := range d.Session.Ops {
			if op.Outcome != history.Done || op.F != history.Release && op.F != history.Renew {
				continue
			}
			if a.contradicts(k, d, op, later) || a.contradicts(k, d, op, laterSilent) {
				break
			}
		}
	}
}

// lostBelief returns the position at which the belief of a session first ended. If the lease had ended
// before the grant was answered, that is the grant itself, until a renewal works.
func lostBelief(d *hold.Hold) int {
	if beliefs := d.Least.Beliefs; len(beliefs) > 0 && beliefs[0].From <= d.Grant {
		return max(d.Grant+1, beliefs[0].To)
	}
	return d.Grant + 1
}

// firstTold returns the index of the first moment that exclusion sees at a position or later.
func firstTold(moments []moment, pos int) int {
	at, _ := slices.BinarySearchFunc(moments, pos, func(m moment, pos int) int { return cmp.Compare(m.seenFrom(), pos) })
	return at
}

// contradicts reports whether another session held in one of the moments, before an operation that
// proves that d held until then. It adds the finding.
func (a *answers) contradicts(k *hold.Key, d *hold.Hold, op history.Op, moments []moment) bool {
	for _, m := range moments {
		if m.seenFrom() >= op.Invoke {
			break
		}
		if !hold.Conflict(d, m.hold) || m.from <= d.Grant || m.to >= op.Invoke || a.owned.cameSince(d, op, m) {
			continue
		}
		if !m.hold.Granted() && m.from < lostBelief(d) && m.to < d.Ends.Lapse {
			continue // d certainly held all the time, so the sweep finds it
		}
		a.found("released-without-holding", d, k.Name, op.Return,
			fmt.Sprintf("the lock confirmed at %s that %s has %s %q, %sclient %d %s", secondsAt(a.ledger, op.Return), client(d, nil), done(op), k.Name,
				a.whyOver(d, m), m.hold.Session.Client, a.held(m)), m.hold, op.Invoke, op.Return)
		return true
	}
	return false
}

// whyOver describes why a session may have ended before the moment of another client.
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

// held describes the evidence that a session held in a moment.
func (a *answers) held(m moment) string {
	if m.hold.Granted() {
		return "was granted it at " + secondsAt(a.ledger, m.hold.Grant)
	}
	return "released it, as the lock confirmed at " + secondsAt(a.ledger, m.to)
}

// moment is an interval that contains an instant at which a session certainly held.
type moment struct {
	from, to int
	hold     *hold.Hold
}

// seenFrom returns the position from which exclusion sees the hold: the answer to the acquire or, without
// an answer, the begin of the moment.
func (m moment) seenFrom() int {
	if m.hold.Granted() {
		return m.hold.Grant
	}
	return m.from
}

// unused reports whether the lease of a granted session ended before its client used it. Exclusion does
// not report such grants.
func unused(d *hold.Hold) bool { return d.Granted() && d.Most.Work.Empty() }

// moments returns the moments of a key in order. A session held at its grant or, if the answer may have
// come after its own lease, at some time since its request. A session whose acquire has an unknown
// outcome and whose release was ok held at some instant of that release:
//
//	client 1  acquire ok, lease 1 s                                   release ok at 2.5 s
//	client 2                         acquire ...(no answer)  release ok
func moments(l *ledger, k *hold.Key) []moment {
	var all []moment
	for _, d := range k.All {
		switch acquire := d.Session.Acquire; {
		case d.Granted() && l.MayBeLate(d):
			all = append(all, moment{acquire.Invoke, acquire.Return, d})
		case d.Granted():
			all = append(all, moment{d.Grant, d.Grant, d})
		case acquire.Outcome == history.Maybe:
			if op, ok := firstReleased(d.Session); ok {
				all = append(all, moment{op.Invoke, op.Return, d})
			}
		}
	}
	slices.SortFunc(all, func(x, y moment) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to)) })
	return all
}

// firstReleased returns the release of a session that was answered with ok first.
func firstReleased(s *history.Session) (first history.Op, ok bool) {
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done && (!ok || op.Return < first.Return) {
			first, ok = op, true
		}
	}
	return first, ok
}
