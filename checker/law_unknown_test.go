package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockbench/internal/history"
)

// Law 3: what is not known proves nothing. One definite answer is made unknown, in a
// session that no finding names and whose owner has no other that one names. Then every
// finding stays that rests on the sessions it names alone, in [bySessions], and every other
// one under whose key the session never asked.
//
// They stay as [persists] says: an overlap may name another partner, for one who was told
// that it had lost, and now was not, may go on longer.
//
// It holds for the answers of every operation, and for both definite ones. For the rest of
// the findings it does not, since they rest on who else held, or may have, on the same key:
//
//	refused-though-free       0.0 A acquire, refused    0.5 B acquire, refused strictly: no session can have held.
//	                          If A's answer is unknown, A may have held. So it is with A granted and released
//	                          before: if the answer to its release is unknown, A may hold still.
//	released-without-holding  of an acquire of unknown outcome, whose release worked: all others who held
//	                          meanwhile leave no room; if one of their grants is unknown, there is room
//	no-progress, lost-wake-up as refused-though-free
//	lost-update, stale-write  5, 4, 3: that 3 is below 4 is no finding about 5; if the write of 4 is
//	                          unknown, it is
//	too-many-permits          it names two of all who held
//	not-linearizable          as refused-though-free, and with more than a dozen unknown answers nothing
//	                          is searched at all
//	handed-over-early         of two who died with their leases running either is named
//	token-fell                it names the highest token before; with one that fell, and named as such,
//	                          the server counts from there
func TestUnknownAnswers(t *testing.T) {
	changed, kept := 0, 0
	holds(t, func(h *history.History, r *rand.Rand) string {
		before := Judge(h, Options{})
		var pairs []pair
		named := map[string]bool{} // sessions, and owners
		for _, c := range before.Checks {
			for _, f := range c.Findings {
				for _, s := range h.Sessions {
					if slices.Contains(f.Sessions, s.Name) {
						named[s.Name], named[s.Owner] = true, true
					}
				}
			}
		}
		for _, s := range h.Sessions {
			if named[s.Name] || named[s.Owner] {
				continue
			}
			for _, op := range append([]history.Op{s.Acquire}, s.Ops...) {
				if op.Outcome != history.Maybe && forgettable(h, s, op) {
					pairs = append(pairs, pair{s, op})
				}
			}
		}
		if len(pairs) == 0 || before.Verdict != Violated {
			return ""
		}
		changed++
		p := pairs[r.IntN(len(pairs))]
		other, err := history.Build(h.Header, forgotten(h, p))
		if err != nil {
			return "malformed: " + err.Error()
		}
		after := Judge(other, Options{})
		for i, c := range before.Checks {
			for _, f := range c.Findings {
				beside := f.Key == "" || slices.ContainsFunc(p.s.Keys, func(key string) bool { return joined(h, key, f.Key) })
				alone := slices.Contains(bySessions, f.Rule) || f.Rule == "released-without-holding" && len(f.Sessions) == 2
				// An answer to a client shows that it has reconnected after a fault; see connects.
				heard := f.Rule == "lost-wake-up" && slices.ContainsFunc(h.Sessions, func(s *history.Session) bool {
					return s.Name == f.Sessions[0] && s.Client == p.s.Client
				})
				if beside && !alone || heard || f.Rule == "not-linearizable" || f.Rule == "residue" && f.Key != "" {
					continue
				}
				kept++
				if !persists(f, after.Checks[i]) {
					return fmt.Sprintf("%s: %s is gone with an unknown %s that was %s\n%s\nunknown is the answer to event %d of session %s", c.Name, ruleOf(f), p.op.F, p.op.Outcome, foundAs(c.Name, f, seen{}), p.op.Invoke, p.s.Name)
				}
			}
		}
		return ""
	})
	if changed < 200 || kept < 200 {
		t.Errorf("only %d histories had an answer to forget, and %d findings to keep", changed, kept)
	}
}

type pair struct {
	s  *history.Session
	op history.Op
}

// bySessions are the rules whose findings rest on the sessions they name, and on no
// others. A released-without-holding does if it names who held instead.
var bySessions = []string{
	"two-holders", "reader-and-writer", "evicted", "released-twice",
	"token-repeated",
	"overtaken", "lease-short",
}

// forgettable tells whether the history is well-formed if an answer is unknown: then its
// owner must not ask again, and an acquire allows for nothing but releases.
func forgettable(h *history.History, s *history.Session, op history.Op) bool {
	for _, other := range h.Sessions {
		if other.Owner == s.Owner && other.Acquire.Invoke > op.Return {
			return false
		}
	}
	return op.F != history.Acquire || !slices.ContainsFunc(s.Ops, func(op history.Op) bool { return op.F != history.Release })
}

// forgotten makes an answer unknown. The process that got it asks for nothing any more;
// its client goes on under another one.
func forgotten(h *history.History, p pair) []history.Event {
	events := slices.Clone(h.Events)
	e := &events[p.op.Return]
	*e = history.Event{Index: e.Index, Time: e.Time, Process: e.Process, Client: e.Client, F: e.F, Session: e.Session,
		Type: history.Info, Error: "timeout", Resource: e.Resource}
	if e.F != history.Acquire {
		e.Token = h.Events[p.op.Return].Token
	}
	if e.F == history.Write {
		e.Value = h.Events[p.op.Return].Value
	}
	for i := p.op.Return + 1; i < len(events); i++ {
		if events[i].Process == e.Process {
			events[i].Process += 5000
		}
	}
	return events
}

// joined tells whether two keys are in one part of a history.
func joined(h *history.History, a, b string) bool {
	if a == b {
		return true
	}
	reached := map[string]bool{a: true}
	for range h.Sessions {
		for _, s := range h.Sessions {
			if slices.ContainsFunc(s.Keys, func(key string) bool { return reached[key] }) {
				for _, key := range s.Keys {
					reached[key] = true
				}
			}
		}
	}
	return reached[b]
}
