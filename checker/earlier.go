package checker

import (
	"slices"

	"lockbench/checker/hold"
)

// earlier are the holds of a key that were granted before the one in hand. Many of them
// may go on at once: those who oversleep their leases all wake in the end. So they are
// not looked at one by one. Of a hold whose beliefs are in one piece from its grant on
// four ends matter, and of each the two latest of different owners, for nobody is in the
// way of a hold of its own owner:
//
//   - where its work certainly ends, for an overstay;
//   - where its belief certainly ends, for a double-grant;
//   - up to where it certainly works and possibly believes, for what is undetermined;
//   - where its work possibly ends, for what cannot be known.
//
// Those whose beliefs are in several pieces are looked at one by one: their leases ran
// out and were renewed later, which is rare.
type earlier struct {
	works, believes, mayBelieve, mayWork latest[hold.End]
	pieces                               []*hold.Hold
	all                                  []*hold.Hold
	some                                 []*hold.Hold // what candidates has returned last
}

// add takes one more, which was granted after all others.
func (e *earlier) add(t *hold.Hold) {
	e.all = append(e.all, t)
	if !inOnePiece(t) {
		e.pieces = append(e.pieces, t)
		return
	}
	works, mayBelieve := t.Least.Work.End(), believedTo(t.Most.Beliefs)
	if works.Compare(mayBelieve) < 0 {
		mayBelieve = works
	}
	e.works.add(t, works)
	e.believes.add(t, believedTo(t.Least.Beliefs))
	e.mayBelieve.add(t, mayBelieve)
	e.mayWork.add(t, t.Most.Work.End())
}

// inOnePiece tells whether a hold believes from its grant on without a break, or never.
func inOnePiece(t *hold.Hold) bool {
	for _, beliefs := range [][]hold.Span{t.Least.Beliefs, t.Most.Beliefs} {
		if len(beliefs) > 1 || len(beliefs) == 1 && beliefs[0].From != t.Grant {
			return false
		}
	}
	return true
}

// believedTo is where the last of some beliefs ends.
func believedTo(beliefs []hold.Span) hold.End {
	if len(beliefs) == 0 {
		return hold.End{}
	}
	return beliefs[len(beliefs)-1].End()
}

// candidates are those of whom one is the worst partner of t, if there is any.
func (e *earlier) candidates(t *hold.Hold) []*hold.Hold {
	over := func(a *hold.Hold) bool { return a.Most.Work.To <= t.Grant }
	e.some = e.some[:0]
	if !inOnePiece(t) {
		e.all = slices.DeleteFunc(e.all, over)
		e.some = append(e.some, e.all...)
	} else {
		e.pieces = slices.DeleteFunc(e.pieces, over)
		e.some = append(append(e.some, e.pieces...),
			e.works.other(t), e.believes.other(t), e.mayBelieve.other(t), e.mayWork.other(t))
	}
	e.some = slices.DeleteFunc(e.some, func(a *hold.Hold) bool {
		return a == nil || over(a) || a.Session.Owner == t.Session.Owner
	})
	return e.some
}

// compared is by what holds are ranked: their ends, or their tokens.
type compared[T any] interface{ Compare(T) int }

// latest are the two holds of different owners with the latest ends, the later one first.
type latest[T compared[T]] [2]struct {
	hold *hold.Hold
	end  T
}

func (l *latest[T]) add(t *hold.Hold, end T) {
	first, second := &l[0], &l[1]
	switch owner := t.Session.Owner; {
	case first.hold == nil || end.Compare(first.end) > 0:
		if first.hold != nil && first.hold.Session.Owner != owner {
			*second = *first
		}
		first.hold, first.end = t, end
	case owner != first.hold.Session.Owner && (second.hold == nil || end.Compare(second.end) > 0):
		second.hold, second.end = t, end
	}
}

// other is the latest one whose owner is not that of t, or nil.
func (l *latest[T]) other(t *hold.Hold) *hold.Hold {
	if l[0].hold != nil && l[0].hold.Session.Owner == t.Session.Owner {
		return l[1].hold
	}
	return l[0].hold
}
