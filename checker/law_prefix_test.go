package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockbench/internal/history"
)

// Law 4: what is certain stays certain. A history is judged after each of its events, and
// no finding goes away with the next one, nor does its class become milder, but for the
// events that [takesBack] names. What has no return yet may still happen, and so a prefix
// is judged as if its last calls were of unknown outcome.
//
// Of a rule in [stays] the same finding stays: at the same event, under the same key, and
// for the same session. Of the others something weaker does:
//
//	released-without-holding  something is found of its session still, though maybe something
//	                          else: a first release that is refused after all makes an
//	                          evicted of it, and a check under way that is answered ok shows
//	                          that it was still at work when the other one was granted
//	refused-though-free,      something is found of the key still. They rest on the order of
//	released-without-holding  all who held it, and there is none once two hold at once, or
//	of an unknown acquire     one released twice: 1.000 A ok shared, 2.000 B is refused shared,
//	                          3.000 C ok. From then on it may be told of A and C alone
//	token-fell                some token of the key fell: an acquire that was called
//	                          before and is answered only now may be the one that fell
//	not-linearizable          if the history is still judged in whole: with a lease, with
//	                          a double-grant, or with more calls of unknown outcome
//	                          than a search can do, something else is judged
//
// Nothing is said of unknown, of lost updates, of a counter that contradicts itself (a
// session that shows later that it worked on explains it), of notes, and of harness.
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

// ruleOf is the rule and the class.
func ruleOf(f Finding) string {
	if f.Class == NoClass {
		return f.Rule
	}
	return f.Rule + " " + f.Class.String()
}

// stays are the rules of which the very finding stays.
var stays = []string{
	"two-holders", "reader-and-writer", "too-many-permits",
	"evicted", "released-twice", "refused-though-free",
	"lost-update", "stale-write",
	"token-repeated",
	"no-progress", "lost-wake-up", "residue", "overtaken",
	"lease-short", "lease-long", "handed-over-early", "flood",
}

// persists tells whether a finding of a prefix is among what is found one event later.
func persists(f Finding, after Result) bool {
	return slices.ContainsFunc(after.Findings, func(x Finding) bool {
		switch f.Rule {
		case "two-holders", "reader-and-writer", "too-many-permits":
			// The second session that it names is the one that goes on longest.
			return x.Event == f.Event && x.Class >= f.Class
		case "released-without-holding":
			// If two contradict each other, a sign that one has held all along accuses the
			// other. Or another check tells: see takesBack.
			return slices.Contains(x.Sessions, f.Sessions[0]) || x.Rule == f.Rule && slices.Contains(f.Sessions, x.Sessions[0])
		case "token-fell":
			return x.Rule == f.Rule && x.Key == f.Key
		case "not-linearizable":
			return true
		case "overtaken", "evicted":
			// Once of each session: a check that is answered ok may show that an earlier one counts.
			return x.Rule == f.Rule && x.Sessions[0] == f.Sessions[0]
		case "released-twice":
			return x.Rule == f.Rule && x.Sessions[0] == f.Sessions[0] // of three, the first two by their calls
		case "no-progress":
			return x.Rule == f.Rule && x.Key == f.Key && x.Event == f.Event
		}
		rule := x.Rule
		if f.Rule == "stale-write" && rule == "lost-update" {
			rule = f.Rule // a read shows that it is a counter, so that the late write undid an update as well
		}
		return rule == f.Rule && x.Class >= f.Class && x.Key == f.Key && x.Event == f.Event && slices.Equal(x.Sessions, f.Sessions)
	})
}

// takesBack tells whether the last event of a history may take back a finding of all that
// stands before it.
func takesBack(h *history.History, f Finding, after Report) bool {
	last := &h.Events[len(h.Events)-1]
	var named, beside []*history.Session // and those that share a key with one of them
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
	case "too-many-permits":
		// It names one of those who held before; each of them held permits.
		return endsEarlier(last, beside) || milder(h, last, beside)
	case "evicted":
		// A check that was under way tells that its client knew.
		return endsEarlier(last, named)
	case "released-without-holding", "refused-though-free":
		// It rests on who held for certain: of all who asked for the key.
		if f.Rule == "refused-though-free" || len(f.Sessions) == 1 {
			return endsEarlier(last, beside) || contradicted(h, after, f.Key) || heldAfterAll(last, beside)
		}
		// Exclusion may report the other one together with a session that held for longer.
		return endsEarlier(last, beside) || tells(after, Exclusion, f.Sessions[0]) || tells(after, Exclusion, f.Sessions[1])
	case "lost-update", "stale-write":
		// A session that writes anything but one more than it read keeps no counter.
		return last.F == history.Write && !counting(h, f.Key)
	case "lease-short", "lease-long":
		return endsEarlier(last, named)
	case "handed-over-early":
		// A library that tells of a loss may have let go by itself before it told. And what
		// is given back after all has not been kept for the dead one. Where a check was under
		// way that is answered ok, exclusion tells of the two.
		of := func(s *history.Session) bool { return s.Name == last.Session }
		return slices.ContainsFunc(named, of) && (last.F == history.Lost || last.F == history.Release || last.Type == history.Fail) ||
			tells(after, Exclusion, f.Sessions[1])
	case "no-progress", "lost-wake-up":
		// A session that renews has held all along, and so has one that heard of its loss while a
		// write was under way that worked.
		return (last.F == history.Renew || last.Type == history.OK) && slices.ContainsFunc(beside, func(s *history.Session) bool { return s.Name == last.Session })
	case "overtaken":
		// An answer that is as late as its lease is long may have been given in its turn. And
		// a holder does not queue: B overtook A, unless what it does under an
		// older hold, past the lease of that, turns out to have worked.
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

// endsEarlier tells whether an event says of one of some sessions that it ended before:
// its client died, its library noticed a loss, or an answer said that it holds nothing. Only
// up to the last sign before that it held for certain.
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

// heldAfterAll tells whether an event says of one of some sessions, for which it was unknown
// whether it was granted, that it was: an uncounted session held.
//
//	client 0  acquire ...no answer           release ok
//	client 2               refused
//
// A finding may rest on all that this session explains together with others. Where leases
// are unknown, what it explains is looked at one by one from then on.
func heldAfterAll(last *history.Event, of []*history.Session) bool {
	return last.F == history.Release && last.Type == history.OK && slices.ContainsFunc(of, func(s *history.Session) bool {
		return s.Name == last.Session && s.Acquire.Outcome == history.Maybe
	})
}

// milder tells whether an event may shorten what a client believed, so that a class is
// milder, and an unused overlap disappears. Both come from what is under way:
//
//	a pause, or another fault, which becomes too long for a lease that is renewed:
//	0.000 A ok renewed=true lease=3s   1.000 A is paused   2.000 B is granted   ... 9.000 A goes on
//
//	a renewal, whose answer says that the lease is shorter than was asked for:
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

// ownedBy tells whether a session is of an owner.
func ownedBy(h *history.History, session, owner string) bool {
	return slices.ContainsFunc(h.Sessions, func(s *history.Session) bool { return s.Name == session && s.Owner == owner })
}

// tells tells whether a check names a session.
func tells(r Report, check, session string) bool {
	c, _ := r.Check(check)
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return slices.Contains(f.Sessions, session) })
}

// counting tells whether every write under a key has the value that its session had read
// last, and one more.
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

// contradicted tells whether anything was found of the answers on a key, or of a session
// that asked for it among others.
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
