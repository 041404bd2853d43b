package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

type permits struct {
	used    int64
	holders holders
}

// Semaphore is held by sessions that together have no more than its permits.
func Semaphore(p Params) porcupine.Model {
	total := max(1, p.Permits)
	return model(permits{}, func(s permits, c Call, a Answer) (bool, permits) { return stepSemaphore(total, s, c, a) },
		func(s permits) string {
			if s.used == 0 {
				return fmt.Sprintf("%d permits free", total)
			}
			return fmt.Sprintf("%d of %d permits held, by %s", s.used, total, s.holders)
		})
}

func stepSemaphore(total int64, s permits, c Call, a Answer) (bool, permits) {
	_, held, holds := s.holders.find(c.Session)
	switch c.Kind {
	case Acquire:
		n := max(1, c.Weight)
		// Compared with what is left, for a sum may not fit into an int64.
		fits := !holds && n <= total-s.used
		next := permits{s.used + n, s.holders.with(c.Session, n)}
		switch {
		case a.Outcome == OK:
			return fits, next
		case a.Outcome == Refused:
			return !fits, s
		case a.Outcome == Unknown && fits:
			return true, next
		}
	case Release, Expire:
		if holds && (a.Outcome == OK || a.Outcome == Unknown) {
			return true, permits{s.used - held, s.holders.without(c.Session)}
		}
		return ends(holds, c, a), s
	case Renew, Use:
		return says(holds, a), s
	}
	return true, s
}
