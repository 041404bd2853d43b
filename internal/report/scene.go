package report

import (
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// LeaseEnd is the end of a session's lease as far as its client knew. known is false if the lock has no lease, the
// library renews it, or its end is unknown.
func LeaseEnd(holds *hold.Book, s *history.Session) (end time.Duration, known bool) {
	l := newTenure(holds, s).lease(len(holds.History.Events))
	return l.deadline, l.kind == knownLease
}

// HoldEnd is the position at which a session stopped holding: its release, its client's death, or the end of the
// history. why is the reason in words.
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
