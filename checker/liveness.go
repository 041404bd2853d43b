package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// no-progress needs this much evidence. Few attempts, or attempts within a short time, may all fail by
// chance: a split vote of a majority lock refuses every client.
const (
	refusalsMin = 5
	starvedMin  = time.Second
)

// liveness checks that a lock that can be granted is granted. Except for the rule unavailable, it judges only quiet
// stretches, after all faults have healed and the servers answer.
//
// Its first rule is no-progress: in a quiet stretch, from the position on at which no client
// could hold a key any more, at least five attempts were refused over at least a
// second, and none was granted until the stretch ended. A client can hold a key as long as any server
// may have its hold, whether or not the client still counts on it. If a holder with a lease of a minute
// dies, the lock may be held for that minute.
//
// residue.go, asleep.go and unavailable.go have the other rules.
func liveness(l *ledger, _ Report) Result {
	stretches := l.quiet
	ungranted, note := unavailable(l)
	findings := append(residue(l), ungranted...)
	if len(stretches) == 0 {
		r := violated(findings)
		r.Note = note
		return r
	}
	var why string
	var longest time.Duration
	var keys []*wanted
	for _, k := range l.Keys {
		keys = append(keys, wantedOf(l, k))
	}
	groups := groupsOf(l)
	for _, q := range stretches {
		var all []*wanted
		for _, at := range tried(l, q) {
			all = append(all, keys[at])
		}
		for _, w := range append(all, groups.wanted(q, keys)...) {
			f, ok := starved(l, q, w)
			switch {
			case !ok:
			case q.Open:
				why = fmt.Sprintf("no client was granted %s from %s on, but the history ends before the quiet stretch did", w.name(), secondsAt(l, q.From))
			default:
				findings = append(findings, f)
			}
			asleep, free := asleep(l, q, w)
			findings, longest = append(findings, asleep...), max(longest, free)
		}
	}
	r := violated(findings)
	if longest > 0 {
		r.Note = fmt.Sprintf("a waiter was woken at most %s after the lock had become free", seconds(longest))
	}
	r.Note = cmp.Or(note, r.Note)
	if r.Verdict == Valid && why != "" {
		r.Verdict, r.Why = Unknown, why
	}
	return r
}

// tried returns the indexes of the keys that clients requested in a stretch. There may be too many keys and
// stretches to examine each pair of them.
func tried(l *ledger, q history.Stretch) (keys []int) {
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

// wanted has the attempts for a key, or for several keys that were requested together.
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

// keeper is an attempt that was not refused, and that may have held a key from its call up to an end.
type keeper struct {
	hold     *hold.Hold
	lease    time.Duration // when it has ended on every server
	asked    int
	until    end
	longest  end              // the latest end of this and all earlier keepers
	last     *history.Session // the last granted session of these
	doubtful *history.Session // the last session of these whose end is unknown
}

// end is the end of a hold: an event, or the end of a lease right before it.
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

// wantedOf collects the attempts for a key.
func wantedOf(l *ledger, k *hold.Key) *wanted {
	w := &wanted{key: k.Name, names: []string{fmt.Sprintf("%q", k.Name)}}
	var keepers []keeper
	held := map[string][]int{} // by owner: its keepers that may be held
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
			held[s.Owner] = append(entered(l, keepers, held[s.Owner], c), len(keepers))
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
func entered(l *ledger, keepers []keeper, held []int, inner keeper) []int {
	open := held[:0]
	for _, i := range held {
		outer := &keepers[i]
		if outer.until.pos <= inner.asked {
			continue
		}
		outer.lease = max(outer.lease, inner.lease)
		for _, op := range inner.hold.Session.Ops {
			// A release without a hold, or after both leases, restarts no lease.
			if op.F == history.Release && op.Return >= 0 && !l.NotHeld(op) && inner.lease < hold.Never && l.h.Events[op.Invoke].Time < outer.lease {
				outer.lease = max(outer.lease, hold.Later(l.h.Events[op.Return].Time, inner.lease-l.h.Events[inner.asked].Time))
			}
		}
		outer.until.pos, outer.until.at = l.Free(outer.hold, outer.lease)
		open = append(open, i)
	}
	return open
}

// freeFrom returns the position in a stretch from which no client can hold a key until the stretch ends, the last
// session that was granted the key, and the last session whose end is unknown. If there are several keys, it returns
// these for the key that is free last.
func (w *wanted) freeFrom(q history.Stretch) (from int, last, doubtful *history.Session) {
	from = q.From
	for _, keepers := range w.keepers {
		// If an attempt was granted in the stretch, the position comes after it. The same is true for an
		// attempt that is still open when the stretch ends, because it may still be granted.
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

// starved reports whether enough attempts for a key were refused in a stretch while no client could hold the key.
func starved(l *ledger, q history.Stretch, w *wanted) (Finding, bool) {
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
			w.name(), secondsAt(l, q.From), secondsAt(l, min(q.To, len(l.h.Events)-1)),
			secondsAt(l, from), n, secondsAt(l, end)),
		Events: []int{q.From, begin, end, min(q.To, len(l.h.Events)-1)},
	}
	// This session is not proven to be the cause, but a server may keep a hold that no client released. If
	// a client was granted the lock later, that hold blocked no client.
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

// notAsked reports whether an error means that the guest sent no request to the lock, so the lock did not refuse.
func notAsked(reason string) bool { return reason == "unsupported" || reason == "bad-request" }
