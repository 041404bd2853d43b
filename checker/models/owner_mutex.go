package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// OwnerMutex is a lock that its holder alone can release, as those are that compare a
// token before they delete. Its state is the session that holds it, or 0.
//
// If owners have several sessions, those may hold together, but what an owner holds may
// be a reason to refuse it.
func OwnerMutex(p Params) porcupine.Model {
	if p.Owners {
		return owned(false)
	}
	return model(int32(0), stepOwnerMutex, func(holder int32) string {
		if holder == 0 {
			return "free"
		}
		return fmt.Sprintf("held by session %d", holder)
	})
}

func stepOwnerMutex(holder int32, c Call, a Answer) (bool, int32) {
	switch c.Kind {
	case Acquire:
		switch {
		case a.Outcome == OK:
			return holder == 0, c.Session
		case a.Outcome == Refused:
			return holder != 0 && holder != c.Session, holder
		case a.Outcome == Unknown && holder == 0:
			return true, c.Session
		}
	case Release, Expire:
		return ends(holder == c.Session, c, a), after(holder, c, a)
	case Renew, Use:
		return says(holder == c.Session, a), holder
	}
	return true, holder
}

// ends tells whether the answer of a release is legal.
func ends(holds bool, c Call, a Answer) bool { return c.Kind == Expire || says(holds, a) }

// says tells whether an answer about whether a session holds is true: ok claims that
// it does, a refusal that it does not.
func says(holds bool, a Answer) bool {
	switch a.Outcome {
	case OK:
		return holds
	case Refused:
		return !holds
	}
	return true
}

// after is who holds after the release of a session.
func after(holder int32, c Call, a Answer) int32 {
	if holder == c.Session && (a.Outcome == OK || a.Outcome == Unknown) {
		return 0
	}
	return holder
}
