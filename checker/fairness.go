package checker

import (
	"slices"

	"lockbench/internal/history"
)

// fairness asks whether a lock that claims to be fair serves clients in the order in which
// they came.
//
// Only the lock knows that order. A client that asks is not in the queue yet: its
// request may be delayed, and the request of a client that asks later may arrive first. So
// an overtake counts only if a probe had seen the waiter in the queue before the other client
// asked:
//
//	client 1  acquire ─────────────────────────────────── ok, or refused
//	probe                 queued: client 1
//	client 2                       acquire ── ok                 overtaken
//
// A waiter that was paused meanwhile may have been served and have slept through that
// lease, or have been taken for dead. If the answer came after the waiter's own lease, it is
// unknown when the grant was, so nothing is reported. Without a probe nothing is judged.
func fairness(l *ledger, _ Report) Result {
	h := l.h
	queue := queued(h)
	if !h.Header.Claims.Fair || len(queue) == 0 {
		return Result{}
	}
	var findings []Finding
	for _, k := range l.Keys {
		findings = append(findings, l.overtaken(k, queue)...)
	}
	r := violated(findings)
	seen := slices.ContainsFunc(h.Sessions, func(s *history.Session) bool {
		_, queued := queue[s.Name]
		return queued && h.At(s.Acquire.Invoke).Wait > 0
	})
	if r.Verdict == Valid && !seen {
		r.Verdict, r.Why = Unknown, "the queue was probed, but no client that waited was seen in it"
	}
	return r
}

// queued says where each session was first seen in the queue.
func queued(h *history.History) map[string]int {
	all := map[string]int{}
	for pos, seen := range history.FactsOf[history.Queued](h) {
		for _, name := range seen.Sessions {
			if _, ok := all[name]; !ok {
				all[name] = pos
			}
		}
	}
	return all
}
