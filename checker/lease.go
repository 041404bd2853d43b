package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Lease asks whether leases are what clients were told: that a server keeps a grant at
// least as long as its holder counts on it, not much longer than was asked for, and
// that the lock of a client that died is not handed over before its lease can have
// ended.
//
// How long a server keeps a key the run asks it right after some of the grants. The
// answer came later than it was true, so it is an upper bound: a key that is said at
// time t to live for d more is gone by t+d.
//
//	granted           probe: 2 s left        gone by now      client counts on it
//	   ├──────────────────┼─────────────────────────┤· · · · · · · · · · ┤   lease-short
//
// A lock of a live holder that is handed over is not looked at here: that is exclusion.
type Lease struct{}

var _ Checker = Lease{}

// leaseRounding is how much longer than asked a server may keep a grant: some count in
// seconds and round up.
const leaseRounding = time.Second + 50*time.Millisecond

// Name returns "lease".
func (Lease) Name() string { return "lease" }

// About says what is judged, in one line.
func (Lease) About() string {
	return "servers keep grants as long as was asked for, and give them to nobody else before"
}

// Check is a pure function of the history.
func (c Lease) Check(h *history.History, o Options) Result {
	l := newLedger(h, o)
	byName := map[string]*history.Session{}
	for _, s := range h.Sessions {
		byName[s.Name] = s
	}
	longest := longestAsked(h)
	var findings []Finding
	told := map[string]bool{}
	probed, judged, struckBy := 0, 0, 0
	// While servers are struck there may be two that take themselves for the one that
	// keeps the key, and the run asks the one that its client does not know of. So only
	// what was granted and asked for in calm counts.
	calm := append(slices.Clone(h.Quiet()), history.Stretch{To: durable(h)})
	for pos, probe := range history.FactsOf[history.Kept](h) {
		probed++
		s := byName[probe.Session]
		if s == nil || !l.holds(s, pos) {
			continue
		}
		if !slices.ContainsFunc(calm, func(q history.Stretch) bool { return q.Has(pos) && q.Has(s.Acquire.Return) }) {
			struckBy++
			continue
		}
		judged++
		most := longest[hand{s.Owner, s.Keys[0]}]
		if s.Mode == locks.Shared {
			most = max(most, longest[hand{"", s.Keys[0]}])
		}
		if f, ok := l.kept(s, pos, probe.TTL, most); ok && !told[f.Rule+s.Name] {
			told[f.Rule+s.Name] = true
			findings = append(findings, f)
		}
	}
	findings = append(findings, l.early()...)
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Event, b.Event) })
	r := violated(c.Name(), findings)
	if r.Verdict == Valid && probed > struckBy && judged == 0 {
		r.Verdict, r.Why = Unknown, fmt.Sprintf("the servers were asked %d times how long they keep a grant, but never while its session certainly held", probed)
	}
	return r
}

// holds tells whether a session was granted and not asked to be released at a position.
func (l *ledger) holds(s *history.Session, pos int) bool {
	if s.Acquire.Outcome != history.Done || s.Acquire.Return > pos ||
		slices.ContainsFunc(l.notices(s), func(noticed int) bool { return noticed >= 0 && noticed < pos }) {
		return false
	}
	return !slices.ContainsFunc(s.Ops, func(op history.Op) bool {
		return (op.F == history.Release || op.F == history.Renew) && op.Invoke < pos
	})
}

// hand is an owner on a key.
type hand struct{ owner, key string }

// longestAsked is the longest lease that each owner ever asks for. A holder may enter
// again and ask for more, and the server then keeps the lock for as long as that:
//
//	outer  acquire ttl=5s ──────────────────────────────────── release
//	inner                 acquire ttl=30s ── probe: 30 s left      not too long
//
// One that asks for no lease may keep the lock for ever. Readers share what is kept, and
// so the longest of any of them; they stand under no name.
func longestAsked(h *history.History) map[hand]time.Duration {
	longest := map[hand]time.Duration{}
	for _, s := range h.Sessions {
		ttl := h.At(s.Acquire.Invoke).TTL
		if ttl == 0 {
			ttl = never
		}
		for _, op := range s.Ops {
			if op.F == history.Renew {
				ttl = max(ttl, h.At(op.Invoke).TTL)
			}
		}
		for _, key := range s.Keys {
			longest[hand{s.Owner, key}] = max(longest[hand{s.Owner, key}], ttl)
			if s.Mode == locks.Shared {
				longest[hand{"", key}] = max(longest[hand{"", key}], ttl)
			}
		}
	}
	return longest
}

// kept compares what a server says with what was asked for, at most, and what the
// client knows.
func (l *ledger) kept(s *history.Session, pos int, ttl, longest time.Duration) (Finding, bool) {
	asked, granted, at := l.h.At(s.Acquire.Invoke), l.h.At(s.Acquire.Return), l.h.Events[pos].Time
	if asked.TTL == 0 || pos >= l.stepped || granted.Extra != nil && granted.Extra.Renewed {
		return Finding{}, false
	}
	deadline, _ := l.deadline(s)
	f := Finding{
		Key: s.Keys[0], Event: l.index(pos), Sessions: []string{s.Name},
		Events: indexes(l, s.Acquire.Invoke, s.Acquire.Return, pos),
	}
	switch {
	case later(at, ttl) < deadline-expirySlack:
		f.Rule = "lease-short"
		f.Text = fmt.Sprintf("the server keeps %q for client %d until %s at the latest, but the client counts on it until %s",
			s.Keys[0], s.Client, seconds(later(at, ttl)), seconds(deadline))
	case ttl-leaseRounding > longest: // that is never, if any
		f.Rule = "lease-long"
		f.Text = fmt.Sprintf("the server keeps %q for client %d for %s more, but only %s were asked for",
			s.Keys[0], s.Client, seconds(ttl), seconds(longest))
	default:
		return Finding{}, false
	}
	return f, true
}

// early finds grants of what a dead client's lease still kept. Of a semaphore others may
// be granted meanwhile, and a grant that was answered late may have been made before.
func (l *ledger) early() []Finding {
	if l.h.Header.Model.Has(history.Semaphore) {
		return nil
	}
	var findings []Finding
	for _, k := range byKey(l.tenures()) {
		type dying struct {
			*tenure
			until time.Duration // the end of its lease; a renewal that nobody has heard of may have made it shorter
		}
		var dead []dying // clients that died with their leases running
		for _, t := range k.tenures {
			granted := l.granted(t)
			if l.late(t.session) {
				continue
			}
			dead = slices.DeleteFunc(dead, func(a dying) bool { return a.until-expirySlack <= granted.Time })
			for _, a := range dead {
				if a.session.DiedAt > t.grant || a.session.Owner == t.session.Owner || t.grant >= l.stepped ||
					t.session.Mode == locks.Shared && a.session.Mode == locks.Shared {
					continue
				}
				findings = append(findings, Finding{
					Rule: "handed-over-early", Key: k.key, Event: l.index(t.grant),
					Text: fmt.Sprintf("%q was granted to %s at %s, but %s died at %s with a lease until %s and had not released it", k.key,
						client(t, a.tenure), seconds(granted.Time), client(a.tenure, t), seconds(l.h.Events[a.session.DiedAt].Time), seconds(a.until)),
					Events:   indexes(l, a.session.Acquire.Invoke, a.grant, a.session.DiedAt, t.session.Acquire.Invoke, t.grant),
					Sessions: []string{a.session.Name, t.session.Name},
				})
				dead = slices.DeleteFunc(dead, func(x dying) bool { return x == a })
				break
			}
			if t.session.DiedAt >= 0 && !t.renewed && t.least.deadline != never && !released(t.session) {
				dead = append(dead, dying{t, l.end(t.session, len(l.h.Events))})
			}
		}
	}
	return findings
}

// released tells whether a session was ever asked to be released, or told that it is
// held no more.
func released(s *history.Session) bool {
	return s.LostAt >= 0 || slices.ContainsFunc(s.Ops, func(op history.Op) bool {
		return op.F == history.Release || op.Outcome == history.Failed && op.F != history.FRead && op.F != history.Write
	})
}
