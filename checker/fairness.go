package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/internal/history"
)

// Fairness asks whether those who came first were served first, of a lock that claims
// to be fair.
//
// Who came first only the lock knows. A client that asks is not in the queue yet: its
// request may be held up on its way, and whoever asks later may be there before it. So
// an overtake is held against a lock only if a probe had seen the waiter in the queue
// before the other one asked:
//
//	client 1  acquire ─────────────────────────────────── ok
//	probe                 queued: client 1
//	client 2                       acquire ── ok                 overtaken
//
// Without that it is a statistic, which stands in the note.
type Fairness struct{}

var _ Checker = Fairness{}

// Name returns "fairness".
func (Fairness) Name() string { return "fairness" }

// About says what is judged, in one line.
func (Fairness) About() string {
	return "a lock that claims to be fair serves those first who were queued first"
}

// Check is a pure function of the history.
func (c Fairness) Check(h *history.History, o Options) Result {
	l := newLedger(h, o)
	queued := map[string]int{} // session: position at which it was seen
	for pos, seen := range history.FactsOf[history.Queued](h) {
		for _, name := range seen.Sessions {
			if _, ok := queued[name]; !ok {
				queued[name] = pos
			}
		}
	}
	var findings []Finding
	waits, overtaken, known, most := 0, 0, 0, 0
	for _, k := range byKey(l.tenures()) {
		held := holdsOf(k.tenures)
		// In the order of grants: those before t that asked after it have overtaken it.
		for i, t := range k.tenures {
			if l.h.At(t.session.Acquire.Invoke).Wait == 0 {
				continue
			}
			waits++
			seen, isKnown := queued[t.session.Name]
			known += count(isKnown)
			passed := 0
			var first *tenure
			for _, other := range slices.Backward(k.tenures[:i]) {
				if other.grant < t.session.Acquire.Invoke {
					break
				}
				if conflict(other, t) && other.session.Acquire.Invoke > t.session.Acquire.Invoke {
					passed++
				}
				if conflict(other, t) && isKnown && other.session.Acquire.Invoke > seen && !held.again(other) {
					first = other
				}
			}
			overtaken, most = overtaken+count(passed > 0), max(most, passed)
			if first == nil || !h.Header.Claims.Fair || l.late(t.session) {
				continue // of a grant that is told late nobody knows when it was
			}
			findings = append(findings, Finding{
				Rule: "overtaken", Key: k.key, Event: l.index(first.grant),
				Text: fmt.Sprintf("%s was seen in the queue for %q at %s, but %s asked after that and was granted it before, at %s", client(t, first), k.key,
					seconds(h.Events[seen].Time), client(first, t), seconds(l.granted(first).Time)),
				Events:   indexes(l, t.session.Acquire.Invoke, seen, first.session.Acquire.Invoke, first.grant, t.grant),
				Sessions: []string{t.session.Name, first.session.Name},
			})
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(c.Name(), findings)
	if waits > 0 {
		r.Note = fmt.Sprintf("of %d grants that were waited for %d were overtaken, by up to %d others", waits, overtaken, most)
	}
	if r.Verdict == Valid && h.Header.Claims.Fair && len(queued) > 0 && known == 0 {
		r.Verdict, r.Why = Unknown, "the queue was looked at, but nobody who waited was seen in it"
	}
	return r
}

// holdsBy are the grants of each owner in their order, each with the position up to which
// it or one before it was held.
type holdsBy map[string][]span

func holdsOf(tenures []*tenure) holdsBy {
	all := holdsBy{}
	for _, t := range tenures {
		of := all[t.session.Owner]
		to := t.most.work.to
		if len(of) > 0 {
			to = max(to, of[len(of)-1].to)
		}
		all[t.session.Owner] = append(of, span{t.grant, to})
	}
	return all
}

// again tells whether a grant went to an owner that held already: nobody queues behind
// oneself.
func (h holdsBy) again(t *tenure) bool {
	asked := t.session.Acquire.Invoke
	of := h[t.session.Owner]
	before, _ := slices.BinarySearchFunc(of, asked, func(s span, pos int) int { return cmp.Compare(s.from, pos) })
	return before > 0 && of[before-1].to > asked
}
