package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockbench/internal/history"
)

// Law 3: an unknown answer does not refute findings about other sessions. The test makes one definite answer unknown, in
// a session that no finding names and whose owner has no session that a finding names. The following findings then remain:
// those that depend only on the sessions that they name ([bySessions]), and all findings about keys that the session
// did not request.
//
// [persists] compares the findings. An overlap may name another partner, because a session whose loss is now unknown may
// work longer.
//
// The law covers the answers of every operation. It excludes findings that depend on all possible holders of a key:
//
//	refused-though-free       0.0 A acquire, refused    0.5 B acquire, refused strictly: no session can have held.
//	                          If A's answer is unknown, A may have held. Likewise, if A was granted the lock and
//	                          the answer to its release is unknown, A may still hold.
//	released-without-holding  An acquire has an unknown outcome and its release worked, but the holds of other
//	                          sessions leave no time for it. If one of their grants is unknown, there is time.
//	no-progress, lost-wake-up, The reason is that of refused-though-free.
//	unavailable
//	lost-update, stale-write  In 5, 4, 3, the finding about 3 names 4 and not 5. If the write of 4 is unknown,
//	                          it names 5.
//	not-linearizable          The reason is that of refused-though-free. Also, a history with many unknown answers
//	                          is not searched.
//	handed-over-early         If two clients died during their leases, the finding names one of them.
//	token-fell                The finding names the highest earlier token. After a finding, tokens are compared with
//	                          the lower token.
func TestUnknownAnswers(t *testing.T) {
	changed, kept := 0, 0
	holds(t, func(h *history.History, r *rand.Rand) string {
		before := Judge(h, Options{})
		var pairs []pair
		named := map[string]bool{} // names of sessions and of owners
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
				// An answer shows that the client has reconnected after a fault; see connects.
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

// bySessions are the rules whose findings depend only on the sessions that they name. A released-without-holding that
// names the session that held instead also does.
var bySessions = []string{
	"two-holders", "reader-and-writer", "evicted", "granted-dead", "released-twice",
	"token-repeated",
	"overtaken", "lease-short",
}

// forgettable reports whether the history stays well-formed if an answer becomes unknown: the owner must not acquire
// again, and after an acquire there may only be releases.
func forgettable(h *history.History, s *history.Session, op history.Op) bool {
	for _, other := range h.Sessions {
		if other.Owner == s.Owner && other.Acquire.Invoke > op.Return {
			return false
		}
	}
	return op.F != history.Acquire || !slices.ContainsFunc(s.Ops, func(op history.Op) bool { return op.F != history.Release })
}

// forgotten makes an answer unknown. Its process must not call anything afterwards, so the client continues as
// another process.
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

// joined reports whether two keys belong to the same part of a history.
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
