package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockbench/internal/history"
)

// Law 4: later events do not remove findings. The test judges every prefix of a history. From one prefix to the next, no
// finding disappears or gets a milder class, except for the events that [takesBack] permits. Calls that have not
// returned in a prefix have an unknown outcome.
//
// For the rules in [stays], the same finding must remain, with its event, key and session. Other rules promise less:
//
//	released-without-holding  A finding about the session remains, perhaps with another rule. If the first release is
//	                          refused later, the finding becomes evicted. If a check under way returns ok, the session
//	                          was still working when the other session was granted the lock.
//	refused-though-free,      A finding about the key remains. Both depend on the order of all holders of the key, and
//	released-without-holding  there is no order after two clients held at once or one session released twice. After
//	of an unknown acquire     1.000 A ok shared, 2.000 B is refused shared, 3.000 C ok, only the overlap of A and C
//	                          may be reported.
//	token-fell                A finding about a token of the key remains. An earlier acquire that returns only now may
//	                          have got the lower token.
//	not-linearizable          The finding remains if the whole history is still searched. It is not searched if it
//	                          gets a lease, a double grant, or too many calls with unknown outcome.
//
// The law does not cover unknown verdicts, the number of lost updates, contradictions in the history (a session that
// continues to work may explain them), notes, and the check harness.
func TestPrefixes(t *testing.T) {
	compared := map[string]int{}
	holdsOnce(t, func(h *history.History, _ *rand.Rand) string {
		var before Report
		for n := 1; n <= len(h.Events); n++ {
			prefix, err := history.Build(h.Header, h.Events[:n:n])
			if err != nil {
				return "malformed: " + err.Error()
			}
			report := Judge(prefix, Options{})
			for _, c := range before.Checks {
				after, _ := report.Check(c.Name)
				for _, f := range c.Findings {
					compared[f.Rule]++
					if !persists(f, after) && !takesBack(prefix, f, report) {
						e := h.Events[n-1]
						return fmt.Sprintf("%s: %s is gone or milder after %s of %s\n%s\nafter event %d of session %s", c.Name, ruleOf(f), e.Type, e.F, foundAs(c.Name, f, seen{}), n-1, e.Session)
					}
				}
			}
			before = report
		}
		return ""
	})
	for _, rule := range append(slices.Clone(stays), "released-without-holding", "token-fell", "not-linearizable") {
		if compared[rule] == 0 {
			t.Errorf("no prefix had a finding %s", rule)
		}
	}
}

// ruleOf returns the rule and the class of a finding.
func ruleOf(f Finding) string {
	if f.Class == NoClass {
		return f.Rule
	}
	return f.Rule + " " + f.Class.String()
}

// stays are the rules whose findings remain unchanged.
var stays = []string{
	"two-holders", "reader-and-writer",
	"evicted", "granted-dead", "released-twice", "refused-though-free",
	"lost-update", "stale-write",
	"token-repeated",
	"no-progress", ruleUnavailable, "lost-wake-up", "residue", "overtaken",
	"lease-short", "lease-long", "handed-over-early", "flood",
}

// persists reports whether a finding of a prefix is still found one event later.
func persists(f Finding, after Result) bool {
	return slices.ContainsFunc(after.Findings, func(x Finding) bool {
		switch f.Rule {
		case "two-holders", "reader-and-writer":
			// The second session of the finding is the one that works longest, which may change.
			return x.Event == f.Event && x.Class >= f.Class
		case "released-without-holding":
			// If two sessions contradict each other, a later sign decides which one is wrong. Another check may
			// report the defect instead; see takesBack.
			return slices.Contains(x.Sessions, f.Sessions[0]) || x.Rule == f.Rule && slices.Contains(f.Sessions, x.Sessions[0])
		case "token-fell":
			return x.Rule == f.Rule && x.Key == f.Key
		case "not-linearizable":
			return true
		case "overtaken", "evicted":
			// A session has one such finding. A check that returns ok may move it to an earlier event.
			return x.Rule == f.Rule && x.Sessions[0] == f.Sessions[0]
		case "released-twice":
			return x.Rule == f.Rule && x.Sessions[0] == f.Sessions[0] // of three releases, the two with the earliest calls are reported
		case "no-progress":
			return x.Rule == f.Rule && x.Key == f.Key && x.Event == f.Event
		}
		rule := x.Rule
		if f.Rule == "stale-write" && rule == "lost-update" {
			rule = f.Rule // a read has shown that the resource is a counter, so the late write also undid an update
		}
		return rule == f.Rule && x.Class >= f.Class && x.Key == f.Key && x.Event == f.Event && slices.Equal(x.Sessions, f.Sessions)
	})
}

// takesBack reports whether the last event of a history may remove a finding of the history before that event.
func takesBack(h *history.History, f Finding, after Report) bool {
	last := &h.Events[len(h.Events)-1]
	var named, beside []*history.Session // the sessions of the finding, and the sessions of its key
	for _, s := range h.Sessions {
		if slices.Contains(f.Sessions, s.Name) {
			named = append(named, s)
		}
	}
	for _, s := range h.Sessions {
		if f.Key != "" && slices.Contains(s.Keys, f.Key) {
			beside = append(beside, s)
		}
	}
	switch f.Rule {
	case "two-holders", "reader-and-writer":
		return endsEarlier(last, named) || milder(h, last, named)
	case "evicted":
		// The result of a check that was under way may show that the client knew of its loss.
		return endsEarlier(last, named)
	case "released-without-holding", "refused-though-free":
		// The finding depends on the certain holds of all sessions of the key.
		if f.Rule == "refused-though-free" || len(f.Sessions) == 1 {
			return endsEarlier(last, beside) || contradicted(h, after, f.Key) || heldAfterAll(last, beside)
		}
		// Exclusion may report the other session together with one that held longer.
		return endsEarlier(last, beside) || tells(after, Exclusion, f.Sessions[0]) || tells(after, Exclusion, f.Sessions[1])
	case "lost-update", "stale-write":
		// If a session writes a value other than the last read plus one, the resource is not a counter.
		return last.F == history.Write && !counting(h, f.Key)
	case "lease-short", "lease-long":
		return endsEarlier(last, named)
	case "handed-over-early":
		// A library that reports a loss may have released the lock before the report. And a lock that is released
		// later was not kept for the dead client. If a check under way returns ok, exclusion reports both sessions.
		of := func(s *history.Session) bool { return s.Name == last.Session }
		return slices.ContainsFunc(named, of) && (last.F == history.Lost || last.F == history.Release || last.Type == history.Fail) ||
			tells(after, Exclusion, f.Sessions[1])
	case "no-progress", "lost-wake-up", ruleUnavailable:
		// A session that renews the lock has held it all the time, and so has one whose write succeeds although a
		// loss was reported during the write.
		return (last.F == history.Renew || last.Type == history.OK) && slices.ContainsFunc(beside, func(s *history.Session) bool { return s.Name == last.Session })
	case "overtaken":
		// An answer that arrives later than its lease lasts may have been given in turn. And a client that still
		// holds the lock is not in the queue: B did not overtake A if an operation under an older hold of A,
		// after its lease, turns out to have succeeded.
		return slices.ContainsFunc(named, func(s *history.Session) bool {
			return s.Name == last.Session && last.F == history.Acquire || last.Type == history.OK && ownedBy(h, last.Session, s.Owner)
		})
	case "not-linearizable":
		c, _ := after.Check(Linearizable)
		e, _ := after.Check(Exclusion)
		return c.Note != "" || c.Verdict == Unknown || firstDoubleGrant(e) != nil || endsEarlier(last, beside) || contradicted(h, after, f.Key)
	}
	return false
}

// endsEarlier reports whether an event shows that one of the sessions ended before the event: its client died, its library
// noticed a loss, or an answer said that it does not hold the lock. The session then held with certainty only up to
// its last sign before the event.
//
//	0.000 A is granted   1.000 B is granted (two-holders)   2.000 A died
func endsEarlier(e *history.Event, of []*history.Session) bool {
	return slices.ContainsFunc(of, func(s *history.Session) bool {
		switch {
		case e.F == history.Died:
			return e.Client == s.Client
		case e.Session != s.Name:
			return false
		}
		return e.F == history.Lost || e.Type == history.Fail && e.F != history.Acquire
	})
}

// heldAfterAll reports whether an event shows that one of the sessions held the lock although its acquire has an unknown
// outcome.
//
//	client 0  acquire ...no answer           release ok
//	client 2               refused
//
// A finding may depend on all refusals that this session explains. If leases are unknown, the refusals are
// judged one by one after such an event.
func heldAfterAll(last *history.Event, of []*history.Session) bool {
	return last.F == history.Release && last.Type == history.OK && slices.ContainsFunc(of, func(s *history.Session) bool {
		return s.Name == last.Session && s.Acquire.Outcome == history.Maybe
	})
}

// milder reports whether an event may shorten the belief of a client. The class then becomes milder, and an overlap in
// which the client did nothing disappears. Two kinds of events do that:
//
//	the end of a pause, or of another fault, that was too long for a renewed lease:
//	0.000 A ok renewed=true lease=3s   1.000 A is paused   2.000 B is granted   ... 9.000 A goes on
//
//	the answer to a renewal, with a shorter lease than requested:
//	0.000 A ok until=9s   1.000 A renew ttl=5s   4.000 B is granted   5.000 A ok until=2s
func milder(h *history.History, last *history.Event, of []*history.Session) bool {
	return slices.ContainsFunc(of, func(s *history.Session) bool {
		if last.F == history.Renew && last.Session == s.Name && last.Type == history.OK && last.Until != nil {
			return true
		}
		x := h.At(s.Acquire.Return)
		if x == nil || !x.Renewed {
			return false
		}
		return slices.ContainsFunc(h.Faults, func(f history.Fault) bool {
			return f.Concerns(s.Client) && (f.Healed < 0 || f.Healed == len(h.Events)-1)
		})
	})
}

// ownedBy reports whether a session belongs to an owner.
func ownedBy(h *history.History, session, owner string) bool {
	return slices.ContainsFunc(h.Sessions, func(s *history.Session) bool { return s.Name == session && s.Owner == owner })
}

// tells reports whether a finding of a check names a session.
func tells(r Report, check, session string) bool {
	c, _ := r.Check(check)
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return slices.Contains(f.Sessions, session) })
}

// counting reports whether every write under a key is the last value that the session read plus one.
func counting(h *history.History, key string) bool {
	for _, s := range h.Sessions {
		if !slices.Contains(s.Keys, key) {
			continue
		}
		seen := map[string]int64{}
		for _, op := range s.Ops {
			called, answer := h.At(op.Invoke), h.At(op.Return)
			switch {
			case op.F == history.FRead && op.Outcome == history.Done && answer.Value != nil:
				seen[called.Resource] = *answer.Value
			case op.F == history.Write:
				was, ok := seen[called.Resource]
				if !ok || called.Value == nil || *called.Value != was+1 {
					return false
				}
				delete(seen, called.Resource)
			}
		}
	}
	return true
}

// contradicted reports whether exclusion or results found something about a key or about a session of that key.
func contradicted(h *history.History, r Report, key string) bool {
	for _, name := range []string{Exclusion, Results} {
		c, _ := r.Check(name)
		for _, f := range c.Findings {
			if f.Key == key || slices.ContainsFunc(h.Sessions, func(s *history.Session) bool {
				return slices.Contains(s.Keys, key) && slices.Contains(f.Sessions, s.Name)
			}) {
				return true
			}
		}
	}
	return false
}
