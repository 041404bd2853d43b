package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// No-progress needs this much evidence. Few attempts, or attempts within a short time, may all be
// unlucky: a split vote of a majority lock refuses every client.
const (
	refusalsMin = 5
	starvedMin  = time.Second
)

// liveness asks whether a lock that could be granted was granted. It looks at quiet
// stretches only, after everything is healed and the servers answer; while faults are
// in effect, also one that never heals, a lock may refuse as long as it likes.
//
// Its first rule is no-progress: in a quiet stretch, from the position on at which no client
// could hold a key any more, at least five attempts were refused over at least a
// second, and none was granted until the stretch ended. A client could hold a key if any
// server may know of its hold, whether or not the client still counts on it. A lock
// whose holder died with a lease of a minute is slow to return, as its lease says.
//
// residue.go and asleep.go have the other rules.
func liveness(l *ledger, _ Report) Result {
	stretches := l.quiet
	findings := l.residue()
	if len(stretches) == 0 {
		return violated(findings)
	}
	var why string
	var longest time.Duration
	var keys []*wanted
	for _, k := range l.Keys {
		keys = append(keys, l.wanted(k))
	}
	groups := l.groups()
	for _, q := range stretches {
		var all []*wanted
		for _, at := range l.tried(q) {
			all = append(all, keys[at])
		}
		for _, w := range append(all, groups.wanted(q, keys)...) {
			f, ok := l.starved(q, w)
			switch {
			case !ok:
			case q.Open:
				why = fmt.Sprintf("no client was granted %s from %s on, but the history ends before the quiet stretch did", w.name(), l.at(q.From))
			default:
				findings = append(findings, f)
			}
			asleep, free := l.asleep(q, w)
			findings, longest = append(findings, asleep...), max(longest, free)
		}
	}
	r := violated(findings)
	if longest > 0 {
		r.Note = fmt.Sprintf("a waiter was woken at most %s after the lock had become free", seconds(longest))
	}
	if r.Verdict == Valid && why != "" {
		r.Verdict, r.Why = Unknown, why
	}
	return r
}

// tried returns the places of the keys for which clients asked in a stretch. There may be so many keys and
// stretches that not every pair of them can be looked at.
func (l *ledger) tried(q history.Stretch) (keys []int) {
	first, _ := slices.BinarySearchFunc(l.h.Sessions, q.From, func(s *history.Session, pos int) int { return s.Acquire.Invoke - pos })
	for _, s := range l.h.Sessions[first:] {
		if s.Acquire.Invoke >= q.To {
			break
		}
		keys = append(keys, s.KeyAt...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// wanted has the attempts for a key, or for several keys that were asked for together.
type wanted struct {
	key     string
	names   []string           // of all keys, quoted
	keepers [][]keeper         // of each key
	refused []history.Op       // attempts, in the order of their calls
	waiters []*history.Session // attempts that waited for this key alone and were answered, in the same order
}

func (w *wanted) name() string {
	if len(w.names) == 1 {
		return w.names[0]
	}
	return "any of " + strings.Join(w.names, ", ")
}

// keeper is an attempt that was not refused, and may have kept a key from others from its
// call up to an end.
type keeper struct {
	hold     *hold.Hold
	lease    time.Duration // when it has run out on every server
	asked    int
	until    end
	longest  end              // the latest end of this one and of those that asked before
	last     *history.Session // the last one that was granted, of this one and those before
	doubtful *history.Session // the last one whose end is not known, of the same
}

// end is where a hold ends: at an event, or right before it at the end of a lease.
type end struct {
	pos int
	at  time.Duration
}

func later(a, b end) end {
	if a.pos > b.pos || a.pos == b.pos && a.at > b.at {
		return a
	}
	return b
}

// wanted collects the attempts for a key.
func (l *ledger) wanted(k *hold.Key) *wanted {
	w := &wanted{key: k.Name, names: []string{fmt.Sprintf("%q", k.Name)}}
	var keepers []keeper
	held := map[string][]int{} // by owner, its keepers that may be held
	for _, d := range k.All {
		s := d.Session
		alone := len(s.Keys) == 1 // otherwise another key may be the reason for what happens: see together.go
		if alone && l.h.At(s.Acquire.Invoke).Wait > 0 && s.Acquire.Return >= 0 {
			w.waiters = append(w.waiters, s)
		}
		switch {
		case s.Acquire.Outcome != history.Failed:
			c := keeper{hold: d, lease: l.LeaseOver(d), asked: s.Acquire.Invoke}
			c.until.pos, c.until.at = l.Free(d, c.lease)
			held[s.Owner] = append(l.entered(keepers, held[s.Owner], c), len(keepers))
			keepers = append(keepers, c)
		case alone:
			w.refused = append(w.refused, s.Acquire)
		}
	}
	var before keeper
	for i := range keepers {
		c := &keepers[i]
		c.longest, c.last, c.doubtful = later(before.longest, c.until), before.last, before.doubtful
		if c.hold.Granted() {
			c.last = c.hold.Session
		}
		if c.hold.Ends.Possible == hold.Beyond {
			c.doubtful = c.hold.Session
		}
		before = *c
	}
	w.keepers = [][]keeper{keepers}
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
	open := held[:0]
	for _, i := range held {
		outer := &keepers[i]
		if outer.until.pos <= inner.asked {
			continue
		}
		outer.lease = max(outer.lease, inner.lease)
		for _, op := range inner.hold.Session.Ops {
			// A release that finds nothing held, or comes after both leases, restarts nothing.
			if op.F == history.Release && op.Return >= 0 && !l.NotHeld(op) && inner.lease < hold.Never && l.h.Events[op.Invoke].Time < outer.lease {
				outer.lease = max(outer.lease, hold.Later(l.h.Events[op.Return].Time, inner.lease-l.h.Events[inner.asked].Time))
			}
		}
		outer.until.pos, outer.until.at = l.Free(outer.hold, outer.lease)
		open = append(open, i)
	}
	return open
}

// freeFrom is the position in a stretch from which no client can hold a key until the stretch ends,
// the last session that was granted it, and the last one whose end is not known. Of several keys it
// is the key that is free last.
func (w *wanted) freeFrom(q history.Stretch) (from int, last, doubtful *history.Session) {
	from = q.From
	for _, keepers := range w.keepers {
		// An attempt that was granted in the stretch moves the position behind itself. So does
		// one that is still under way when the stretch ends, because it may yet be granted.
		n, _ := slices.BinarySearchFunc(keepers, q.To, func(c keeper, pos int) int { return c.asked - pos })
		if n == 0 {
			continue
		}
		if c := keepers[n-1]; last == nil && doubtful == nil || c.longest.pos > from {
			from, last, doubtful = max(from, c.longest.pos), c.last, c.doubtful
		}
	}
	return from, last, doubtful
}

// starved tells whether a key was wanted and could have been granted in a stretch, but was not:
// enough attempts were refused while no client could hold it.
func (l *ledger) starved(q history.Stretch, w *wanted) (Finding, bool) {
	from, last, doubtful := w.freeFrom(q)
	first, _ := slices.BinarySearchFunc(w.refused, from, func(op history.Op, pos int) int { return op.Invoke - pos })
	n, begin, end := 0, 0, 0
	for _, op := range w.refused[first:] {
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
		Rule: "no-progress", Key: w.key, Event: end,
		Text: fmt.Sprintf("no client was granted %s in the quiet stretch from %s to %s: no client could hold it from %s on, but %d attempts were refused until %s",
			w.name(), l.at(q.From), l.at(min(q.To, len(l.h.Events)-1)),
			l.at(from), n, l.at(end)),
		Events: []int{q.From, begin, end, min(q.To, len(l.h.Events)-1)},
	}
	// This is not a proof, but the first place to look: a server may keep a hold that no client released. If
	// a client was granted the lock after that, it kept no client out.
	over := doubtful != nil && last != nil && doubtful != last && doubtful.Acquire.Return >= 0 && doubtful.Acquire.Return < last.Acquire.Return
	switch {
	case doubtful != nil && !over:
		f.Sessions = []string{doubtful.Name}
		f.Text += "; it is unknown what became of session " + doubtful.Name
	case last != nil:
		f.Sessions = []string{last.Name}
	}
	return f, true
}

// notAsked tells whether an error says that the lock was never asked, so it did not refuse.
func notAsked(reason string) bool { return reason == "unsupported" || reason == "bad-request" }
