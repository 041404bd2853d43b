package checker

import (
	"slices"

	"lockbench/internal/history"
)

// fairness asks whether those who came first were served first, of a lock that claims
// to be fair.
//
// Who came first only the lock knows. A client that asks is not in the queue yet: its
// request may be held up on its way, and a client that asks later may be there before it. So
// an overtake is held against a lock only if a probe had seen the waiter in the queue
// before the other one asked:
//
//	client 1  acquire ─────────────────────────────────── ok, or refused
//	probe                 queued: client 1
//	client 2                       acquire ── ok                 overtaken
//
// A waiter that stood still meanwhile may have been served and have slept through that
// lease, or have been taken for dead. Nor is a lock blamed if the answer came after the
// waiter's own lease: of that grant it is not known when it was. Without a probe nothing is
// judged.
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
		r.Verdict, r.Why = Unknown, "the queue was looked at, but nobody who waited was seen in it"
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
