package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
)

// Liveness asks whether a lock that could be granted was granted. It looks at quiet
// stretches alone, after everything is healed and the servers answer; while faults are
// in force a lock may refuse as long as it likes.
//
// Its first rule, no-progress: in a quiet stretch, from the moment on at which nobody
// could hold a key any more, at least five attempts were refused over at least a
// second, and none was granted until the stretch ended. What could be held is taken
// broadly: everything that a server may know of, whether or not a client still counts
// on it. A lock whose holder died with a lease of a minute is slow to return, and
// that is what it says of itself.
//
// The others stand in residue.go: what is left when all is quiet, and who was not woken.
type Liveness struct{}

var _ Checker = Liveness{}

// What it takes to say that nobody gets on: few attempts, or attempts in a short time,
// may all be unlucky (a split vote of a majority lock refuses everybody).
const (
	refusalsMin = 5
	starvedMin  = time.Second
)

// Name returns "liveness".
func (Liveness) Name() string { return "liveness" }

// About says what is judged, in one line.
func (Liveness) About() string {
	return "when all is healed and nobody can hold a lock, somebody who asks is granted it"
}

// Check is a pure function of the history.
func (c Liveness) Check(h *history.History, o Options) Result {
	stretches := h.Quiet()
	l := newLedger(h, o)
	findings, _ := l.residue()
	if len(stretches) == 0 {
		return violated(c.Name(), findings)
	}
	keys := l.known()
	var why string
	var longest time.Duration
	for _, q := range stretches {
		for _, k := range keys {
			f, ok := l.starved(q, k)
			switch {
			case !ok:
			case q.Open:
				why = fmt.Sprintf("nobody was granted %q from %s on, but the history ends before the quiet stretch did", k.name, seconds(h.Events[q.From].Time))
			default:
				findings = append(findings, f)
			}
			asleep, free := l.asleep(q, k)
			findings, longest = append(findings, asleep...), max(longest, free)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(c.Name(), findings)
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
	holds   []hold
	refused []history.Op // attempts, in the order of their calls
}

// hold is how long an attempt that was not refused may keep a key from others: from
// its call up to a position.
type hold struct {
	asked, until int
	session      *history.Session
}

// known collects the keys in the order in which they are first asked for.
func (l *ledger) known() []*wanted {
	byName := map[string]*wanted{}
	var all []*wanted
	for _, s := range l.h.Sessions {
		for _, name := range s.Keys {
			k := byName[name]
			if k == nil {
				k = &wanted{name: name}
				byName[name] = k
				all = append(all, k)
			}
			switch {
			case s.Acquire.Outcome != history.Failed:
				k.holds = append(k.holds, hold{s.Acquire.Invoke, l.free(s), s})
			case len(s.Keys) == 1: // else another of its keys may be why
				k.refused = append(k.refused, s.Acquire)
			}
		}
	}
	return all
}

// free is the position from which neither a client nor a server can know of a session
// any more: its claim is over, and its lease has run out or was given back.
func (l *ledger) free(s *history.Session) int {
	end := len(l.h.Events)
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done {
			end = min(end, op.Return)
		}
	}
	claimed := s.Acquire.Invoke
	if s.Acquire.Outcome == history.Done {
		claim, _ := l.claim(s)
		claimed = claim.to
	}
	// Without a return an acquire may take effect at any later time.
	if s.Acquire.Return < 0 {
		return end
	}
	deadline := never
	if ttl := l.h.At(s.Acquire.Invoke).TTL; ttl > 0 {
		deadline = later(l.h.At(s.Acquire.Return).Time, ttl)
	}
	for _, op := range s.Ops {
		if op.F != history.Renew || op.Outcome == history.Failed || deadline == never {
			continue
		}
		ttl := l.h.At(op.Invoke).TTL
		if ttl == 0 || op.Return < 0 {
			deadline = never
			continue
		}
		deadline = max(deadline, later(l.h.At(op.Return).Time, ttl))
	}
	return max(claimed, min(end, l.after(deadline)))
}

// starved tells whether a key was wanted and could have been granted in a stretch,
// but was not.
func (l *ledger) starved(q history.Stretch, k *wanted) (Finding, bool) {
	from := q.From
	var last *history.Session
	for _, hold := range k.holds {
		// An attempt that was granted in the stretch moves the moment behind itself. So
		// does one that is still under way when it ends: it may be the one that gets on.
		if hold.asked >= q.To {
			break
		}
		if hold.until > from {
			from = hold.until
		}
		if hold.session.Acquire.Outcome == history.Done {
			last = hold.session
		}
	}
	first, _ := slices.BinarySearchFunc(k.refused, from, func(op history.Op, pos int) int { return op.Invoke - pos })
	n, begin, end := 0, 0, 0
	for _, op := range k.refused[first:] {
		if op.Invoke >= q.To {
			break
		}
		if op.Return >= q.To || l.h.At(op.Return).Error == "unsupported" {
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
		Rule: "no-progress", Key: k.name, Event: l.index(end),
		Text: fmt.Sprintf("nobody was granted %q in the quiet stretch from %s to %s: nobody could hold it from %s on, but %d attempts were refused until %s",
			k.name, seconds(l.h.Events[q.From].Time), seconds(l.h.Events[min(q.To, len(l.h.Events)-1)].Time),
			seconds(l.h.Events[from].Time), n, seconds(l.h.Events[end].Time)),
		Events: indexes(l, q.From, begin, end, min(q.To, len(l.h.Events)-1)),
	}
	if last != nil {
		f.Sessions = []string{last.Name}
	}
	return f, true
}
