package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// The evidence that no-progress needs. Few attempts, or attempts within a short time, may all be
// unlucky: a split vote of a majority lock refuses every client.
const (
	refusalsMin = 5
	starvedMin  = time.Second
)

// liveness asks whether a lock that could be granted was granted. It looks at quiet
// stretches alone, after everything is healed and the servers answer; while faults are
// in force a lock may refuse as long as it likes.
//
// Its first rule, no-progress: in a quiet stretch, from the moment on at which no client
// could hold a key any more, at least five attempts were refused over at least a
// second, and none was granted until the stretch ended. What could be held is taken
// broadly: everything that a server may know of, whether or not a client still counts
// on it. A lock whose holder died with a lease of a minute is slow to return, and
// that is what it says of itself.
//
// The others stand in files of their own: what is left when all is quiet (residue.go), and
// who was not woken (asleep.go).
func liveness(l *ledger, _ Report) Result {
	stretches := l.h.Quiet()
	findings, _ := l.residue()
	if len(stretches) == 0 {
		return violated(findings)
	}
	var why string
	var longest time.Duration
	for _, k := range l.Keys() {
		w := l.wanted(k)
		for _, q := range stretches {
			f, ok := l.starved(q, w)
			switch {
			case !ok:
			case q.Open:
				why = l.cutShort(q, fmt.Sprintf("%q", k.Name))
			default:
				findings = append(findings, f)
			}
			asleep, free := l.asleep(q, w)
			findings, longest = append(findings, asleep...), max(longest, free)
		}
	}
	several, doubt := l.together(stretches)
	findings, why = append(findings, several...), cmp.Or(why, doubt)
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(findings)
	if longest > 0 {
		r.Note = fmt.Sprintf("a waiter was woken at most %s after the lock had become free", seconds(longest))
	}
	if r.Verdict == Valid && why != "" {
		r.Verdict, r.Why = Unknown, why
	}
	return r
}

// wanted is a key, and all that was asked of it.
type wanted struct {
	name    string
	keepers []keeper
	refused []history.Op // attempts, in the order of their calls
	waiters []waiter
}

// keeper is an attempt that was not refused, and may have kept a key from others from its
// call up to a position.
type keeper struct {
	hold         *hold.Hold
	lease        time.Duration // when it has run out on every server
	asked, until int
	untilTime    time.Duration
	longest      int              // the latest end of this one and of those that asked before
	last         *history.Session // the last one that was granted, of this one and those before
	doubtful     *history.Session // the last one whose end is not known, of the same
}

// wanted collects what was asked of a key.
func (l *ledger) wanted(k *hold.Key) *wanted {
	w := &wanted{name: k.Name}
	held := map[string][]int{} // by owner, its keepers that may be held
	for _, d := range k.All {
		s := d.Session
		switch {
		case s.Acquire.Outcome != history.Failed:
			c := keeper{hold: d, lease: l.LeaseOver(d), asked: s.Acquire.Invoke}
			c.until, c.untilTime = l.Free(d, c.lease)
			held[s.Owner] = append(l.entered(w.keepers, held[s.Owner], c), len(w.keepers))
			w.keepers = append(w.keepers, c)
		case len(s.Keys) == 1: // else another of its keys may be why: see together.go
			w.refused = append(w.refused, s.Acquire)
		}
	}
	for i := range w.keepers {
		c := &w.keepers[i]
		c.longest = c.until
		if i > 0 {
			before := w.keepers[i-1]
			c.longest, c.last, c.doubtful = max(c.longest, before.longest), before.last, before.doubtful
		}
		if c.hold.Granted() {
			c.last = c.hold.Session
		}
		if c.hold.Ends.Possible == hold.Beyond {
			c.doubtful = c.hold.Session
		}
	}
	w.waiters = l.waiters(k, w.keepers)
	return w
}

// entered extends the leases of an owner's sessions when the owner enters again, and returns those that
// may still be held. An inner acquire moves the end of the owner's whole lease, and in some libraries
// its release starts that lease again:
//
//	outer  acquire ttl=2s ─────────────────────── its client has died
//	inner      acquire ttl=8s ── release
//	                             ├────── 8 s ───────┤ free
func (l *ledger) entered(keepers []keeper, held []int, inner keeper) []int {
	lease := inner.lease
	for _, op := range inner.hold.Session.Ops {
		if op.F == history.Release && op.Return >= 0 && lease < hold.Never {
			lease = max(lease, hold.Later(l.h.Events[op.Return].Time, lease-l.h.Events[inner.asked].Time))
		}
	}
	open := held[:0]
	for _, i := range held {
		outer := &keepers[i]
		if outer.until <= inner.asked {
			continue
		}
		outer.lease = max(outer.lease, lease)
		outer.until, outer.untilTime = l.Free(outer.hold, outer.lease)
		open = append(open, i)
	}
	return open
}

// starved tells whether a key was wanted and could have been granted in a stretch,
// but was not.
func (l *ledger) starved(q history.Stretch, k *wanted) (Finding, bool) {
	from, last, doubtful := k.freeFrom(q)
	return l.refusedFrom(q, from, k.name, fmt.Sprintf("%q", k.name), k.refused, last, doubtful)
}

// freeFrom is the position in a stretch from which no client can hold a key until the stretch ends,
// the last session that was granted it, and the last one whose end is not known.
func (k *wanted) freeFrom(q history.Stretch) (from int, last, doubtful *history.Session) {
	from = q.From
	// An attempt that was granted in the stretch moves the moment behind itself. So does
	// one that is still under way when it ends: it may be the one that gets on.
	if n, _ := slices.BinarySearchFunc(k.keepers, q.To, func(c keeper, pos int) int { return c.asked - pos }); n > 0 {
		from, last, doubtful = max(from, k.keepers[n-1].longest), k.keepers[n-1].last, k.keepers[n-1].doubtful
	}
	return from, last, doubtful
}

// refusedFrom tells whether enough of some attempts were refused from a position on, in the order of
// their calls, in a stretch in which no client could hold what they asked for.
func (l *ledger) refusedFrom(q history.Stretch, from int, key, name string, refused []history.Op, last, doubtful *history.Session) (Finding, bool) {
	first, _ := slices.BinarySearchFunc(refused, from, func(op history.Op, pos int) int { return op.Invoke - pos })
	n, begin, end := 0, 0, 0
	for _, op := range refused[first:] {
		if op.Invoke >= q.To {
			break
		}
		if op.Return >= q.To || notAsked(l.h.At(op.Return).Error) {
			continue
		}
		if n == 0 {
			begin = op.Invoke
		}
		n, end = n+1, max(end, op.Return)
	}
	if n < refusalsMin || l.h.Events[end].Time-l.h.Events[begin].Time < starvedMin {
		return Finding{}, false
	}
	f := Finding{
		Rule: "no-progress", Key: key, Event: end,
		Text: fmt.Sprintf("nobody was granted %s in the quiet stretch from %s to %s: nobody could hold it from %s on, but %d attempts were refused until %s",
			name, seconds(l.h.Events[q.From].Time), seconds(l.h.Events[min(q.To, len(l.h.Events)-1)].Time),
			seconds(l.h.Events[from].Time), n, seconds(l.h.Events[end].Time)),
		Events: []int{q.From, begin, end, min(q.To, len(l.h.Events)-1)},
	}
	// It is no proof, but the first place to look: a server may keep what no client gave back. If
	// a client was granted the lock after that, it kept no client out.
	over := doubtful != nil && last != nil && doubtful != last && doubtful.Acquire.Return >= 0 && doubtful.Acquire.Return < last.Acquire.Return
	switch {
	case doubtful != nil && !over:
		f.Sessions = []string{doubtful.Name}
		f.Text += "; nobody was told what became of session " + doubtful.Name
	case last != nil:
		f.Sessions = []string{last.Name}
	}
	return f, true
}

// cutShort says why nothing is known of a stretch that the history does not end.
func (l *ledger) cutShort(q history.Stretch, name string) string {
	return fmt.Sprintf("nobody was granted %s from %s on, but the history ends before the quiet stretch did", name, seconds(l.h.Events[q.From].Time))
}

// notAsked tells whether an error says that the lock was never asked: that is no refusal.
func notAsked(reason string) bool { return reason == "unsupported" || reason == "bad-request" }
