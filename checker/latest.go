package checker

import (
	"cmp"

	"lockbench/checker/hold"
)

// latest are the two holds of different owners that rank highest, by their tokens or by
// their grants, the highest first. A hold never conflicts with one of its own owner, so two
// are enough.
type latest[T cmp.Ordered] [2]struct {
	hold *hold.Hold
	rank T
}

func (l *latest[T]) add(t *hold.Hold, rank T) {
	first, second := &l[0], &l[1]
	switch owner := t.Session.Owner; {
	case first.hold == nil || rank > first.rank:
		if first.hold != nil && first.hold.Session.Owner != owner {
			*second = *first
		}
		first.hold, first.rank = t, rank
	case owner != first.hold.Session.Owner && (second.hold == nil || rank > second.rank):
		second.hold, second.rank = t, rank
	}
}

// other is the latest one whose owner is not that of t, or nil.
func (l *latest[T]) other(t *hold.Hold) *hold.Hold {
	if l[0].hold != nil && l[0].hold.Session.Owner == t.Session.Owner {
		return l[1].hold
	}
	return l[0].hold
}
