package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

type entered struct {
	owner int32
	depth int32
}

// Reentrant is a lock that its owner may enter again, and leaves as often.
//
// It counts entries and does not tell them apart, as the locks themselves do: which
// of two entries a release gives back is nobody's business but the owner's.
func Reentrant(Params) porcupine.Model {
	return model(entered{}, stepReentrant, func(s entered) string {
		if s.depth == 0 {
			return "free"
		}
		return fmt.Sprintf("held by owner %d, %d deep", s.owner, s.depth)
	})
}

func stepReentrant(s entered, c Call, a Answer) (bool, entered) {
	mine := s.depth > 0 && s.owner == c.Owner
	switch c.Kind {
	case Acquire:
		fits := s.depth == 0 || mine
		switch {
		case a.Outcome == OK:
			return fits, entered{c.Owner, s.depth + 1}
		case a.Outcome == Refused:
			return !fits, s
		case a.Outcome == Unknown && fits:
			return true, entered{c.Owner, s.depth + 1}
		}
	case Release, Expire:
		if mine && (a.Outcome == OK || a.Outcome == Unknown) {
			next := entered{s.owner, s.depth - 1}
			if next.depth == 0 {
				next.owner = 0
			}
			return true, next
		}
		return ends(mine, c, a), s
	case Renew, Use:
		return says(mine, a), s
	}
	return true, s
}
