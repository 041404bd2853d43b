package models

import "github.com/anishathalye/porcupine"

// A lock with owners: a release names a session and gives back that session's hold and no
// other, so its state is the set of sessions that hold. Those of one owner may hold
// together, in any mode; those of different owners if both are shared.

// owned is the model of such a lock. If its owners may enter again, what an owner holds is
// no reason to refuse it.
func owned(again bool) porcupine.Model {
	return model(holders(""), func(s holders, c Call, a Answer) (bool, holders) { return stepOwned(again, s, c, a) },
		func(s holders) string {
			if s == "" {
				return "free"
			}
			return "held by " + s.String()
		})
}

func stepOwned(again bool, s holders, c Call, a Answer) (bool, holders) {
	_, _, holds := s.find(c.Session)
	switch c.Kind {
	case Acquire:
		switch fits := !holds && !s.inTheWay(c, true); {
		case a.Outcome == OK:
			return fits, s.with(c.Session, note(c))
		case a.Outcome == Refused:
			return s.inTheWay(c, again), s
		case a.Outcome == Unknown && fits:
			return true, s.with(c.Session, note(c))
		}
	case Release, Expire:
		return ends(holds, c, a), s.after(c, a)
	case Renew, Use:
		return says(holds, a), s
	}
	return true, s
}

// note is what is kept of a session: its owner, and whether it is shared.
func note(c Call) int64 {
	n := int64(c.Owner) << 1
	if c.Shared {
		n |= 1
	}
	return n
}

// inTheWay tells whether somebody holds who conflicts with a call. What its owner holds
// itself does not count if that is excused.
func (h holders) inTheWay(c Call, excused bool) bool {
	for at := 0; at < len(h); at += holderSize {
		_, n := h.at(at)
		if !(c.Shared && n&1 == 1) && !(excused && int32(n>>1) == c.Owner) {
			return true
		}
	}
	return false
}

// after is who holds after the release of a session.
func (h holders) after(c Call, a Answer) holders {
	if a.Outcome == OK || a.Outcome == Unknown {
		return h.without(c.Session)
	}
	return h
}
