package checker

import (
	"cmp"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// moment is a stretch in some instant of which a session certainly held.
type moment struct {
	from, to int
	hold     *hold.Hold
}

// told is where its client learned of the grant, from where on exclusion looks at it; or
// where the moment begins, if it never did.
func (m moment) told() int {
	if m.hold.Granted() {
		return m.hold.Grant
	}
	return m.from
}

// unused tells whether a session was granted, and ran out before its client did anything.
// Exclusion reports none of these.
func unused(d *hold.Hold) bool { return d.Granted() && d.Most.Work.Empty() }

// moments are those of a key, in order. A session held where it was granted; if the answer
// came after its own lease, at some time since it asked. One whose acquire is of unknown
// outcome, but whose release was ok, held at some instant of that release:
//
//	client 1  acquire ok, lease 1 s                                   release ok at 2.5 s
//	client 2                         acquire ...(no answer)  release ok
func (l *ledger) moments(k *hold.Key) []moment {
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

// firstReleased is the release of a session that was the first to be answered with ok.
func firstReleased(s *history.Session) (first history.Op, ok bool) {
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done && (!ok || op.Return < first.Return) {
			first, ok = op, true
		}
	}
	return first, ok
}
