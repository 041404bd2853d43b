package report

import (
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// LeaseEnd is until when a session's client could believe that it held, by all that it
// was told; known is false for what has no lease, is renewed by its library, or does
// not say.
func LeaseEnd(holds *hold.Book, s *history.Session) (end time.Duration, known bool) {
	l := newTenure(holds, s).lease(len(holds.History.Events))
	return l.deadline, l.kind == knownLease
}

// HoldEnd is the position at which a session that was granted stopped to hold for its
// own part: the call of its release, or its death; the end of the history if it did
// neither. why says which.
func HoldEnd(h *history.History, s *history.Session) (end int, why string) {
	end, why = len(h.Events)-1, "to the end"
	for _, op := range s.Ops {
		if op.F == history.Release {
			end, why = op.Invoke, "released"
			break
		}
	}
	if s.DiedAt >= 0 && s.DiedAt < end && s.DiedAt >= s.Acquire.Return {
		end, why = s.DiedAt, "its client died"
	}
	return end, why
}
