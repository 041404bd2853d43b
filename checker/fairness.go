package checker

import (
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// Fairness asks whether those who came first were served first, of a lock that claims
// to be fair.
//
// Who came first only the lock knows. A client that asks is not in the queue yet: its
// request may be held up on its way, and whoever asks later may be there before it. So
// an overtake is held against a lock only if a probe had seen the waiter in the queue
// before the other one asked:
//
//	client 1  acquire ─────────────────────────────────── ok, or refused
//	probe                 queued: client 1
//	client 2                       acquire ── ok                 overtaken
//
// A waiter that stood still meanwhile may have been served and have slept through that
// lease, or have been taken for dead. Nor is a lock blamed if the answer came after the
// waiter's own lease: of that grant nobody knows when it was. Without a probe an overtake
// is a statistic, which stands in the note.
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
	queue := queued(h)
	var findings []Finding
	var count overtakes
	for _, k := range l.Keys() {
		count.key(l, k, queue)
		if h.Header.Claims.Fair && len(queue) > 0 {
			findings = append(findings, l.overtaken(k, queue)...)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(c.Name(), findings)
	if count.waits > 0 {
		r.Note = fmt.Sprintf("of %d grants that were waited for %d were overtaken, by up to %d others", count.waits, count.overtaken, count.most)
	}
	if r.Verdict == Valid && h.Header.Claims.Fair && len(queue) > 0 && count.known == 0 {
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

// overtakes counts how many grants that were waited for came after others who had asked
// later.
type overtakes struct{ waits, overtaken, most, known int }

func (o *overtakes) key(l *ledger, k *hold.Key, queue map[string]int) {
	waits := func(d *hold.Hold) bool { return l.h.At(d.Session.Acquire.Invoke).Wait > 0 }
	if !slices.ContainsFunc(k.All, waits) {
		return
	}
	// Who was granted before and asked later: counted by the places of the calls.
	all, alone := newTally(len(k.Granted)), newTally(len(k.Granted))
	asked := slices.Clone(k.Granted)
	slices.SortFunc(asked, func(a, b *hold.Hold) int { return a.Session.Acquire.Invoke - b.Session.Acquire.Invoke })
	rank := make(map[*hold.Hold]int, len(asked))
	for i, t := range asked {
		rank[t] = i
	}
	for _, t := range k.All {
		if _, ok := queue[t.Session.Name]; ok && waits(t) {
			o.known++
		}
	}
	mine := map[string][]*hold.Hold{} // grants by owner that were before, if it has several
	for _, t := range k.Granted {
		at, reads := rank[t], t.Session.Mode == locks.Shared
		if waits(t) {
			o.waits++
			passed := all.above(at)
			if reads {
				passed = alone.above(at)
			}
			for _, x := range slices.Backward(mine[t.Session.Owner]) {
				if x.Grant < t.Session.Acquire.Invoke {
					break
				}
				if rank[x] > at && (!reads || x.Session.Mode != locks.Shared) {
					passed-- // nobody overtakes oneself
				}
			}
			if passed > 0 {
				o.overtaken++
			}
			o.most = max(o.most, passed)
		}
		all.add(at)
		if !reads {
			alone.add(at)
		}
		if t.Session.Owner != t.Session.Name {
			mine[t.Session.Owner] = append(mine[t.Session.Owner], t)
		}
	}
}

// tally counts numbers, and how many of them are above another one.
type tally struct {
	tree  []int // a Fenwick tree
	total int
}

func newTally(n int) *tally { return &tally{tree: make([]int, n+1)} }

func (t *tally) add(n int) {
	t.total++
	for i := n + 1; i < len(t.tree); i += i & -i {
		t.tree[i]++
	}
}

func (t *tally) above(n int) int {
	upTo := 0
	for i := n + 1; i > 0; i -= i & -i {
		upTo += t.tree[i]
	}
	return t.total - upTo
}
