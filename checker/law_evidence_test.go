package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/history"
)

// Law 2: a finding disappears together with its evidence. The test picks a finding and removes from the
// history all sessions that the finding names, with all their operations. Then
//
//   - no finding names a removed session, and
//   - no finding is new or has a worse class, except those that [explained] permits.
func TestWithoutEvidence(t *testing.T) {
	dropped := 0
	holds(t, func(h *history.History, r *rand.Rand) string {
		before := Judge(h, Options{})
		var all []Finding
		for _, c := range before.Checks {
			for _, f := range c.Findings {
				if len(f.Sessions) > 0 && f.Sessions[0] != "" {
					all = append(all, f)
				}
			}
		}
		if len(all) == 0 {
			return ""
		}
		dropped++
		f := all[r.IntN(len(all))]
		var gone []*history.Session
		for _, s := range h.Sessions {
			if slices.Contains(f.Sessions, s.Name) {
				gone = append(gone, s)
			}
		}
		events := without(h.Events, func(e history.Event) bool { return slices.Contains(f.Sessions, e.Session) })
		last := h.Events[len(h.Events)-1]
		if len(events) == 0 || events[len(events)-1].Index < last.Index {
			e := probe(said{}) // the history must end at the same time as before
			e.Index, e.Time = last.Index, last.Time
			events = append(events, e)
		}
		other, err := history.Build(h.Header, events)
		if err != nil {
			return "malformed: " + err.Error()
		}
		after := Judge(other, Options{})
		for i, c := range after.Checks {
			if c.Name == Rate {
				continue // the limit for commands depends on the number of operations
			}
			for _, x := range c.Findings {
				if slices.ContainsFunc(x.Sessions, func(name string) bool { return slices.Contains(f.Sessions, name) }) {
					return fmt.Sprintf("%s: %s names a session that is not there", c.Name, x.Rule)
				}
				if !slices.ContainsFunc(before.Checks[i].Findings, func(b Finding) bool { return as(x, b) }) && !explained(h, before, x, gone) {
					return fmt.Sprintf("%s: %s is new without %s\n%s\nwithout %s", c.Name, ruleOf(x), ruleOf(f), foundAs(c.Name, x, seen{}), foundAs("", f, seen{}))
				}
			}
		}
		return ""
	})
	if dropped < 500 {
		t.Errorf("only %d histories had a finding to take the evidence from", dropped)
	}
}

// as reports whether x corresponds to a finding of the full history. If the partner with the worst class was
// removed, x may name the next partner, with a class that is not worse.
func as(x, before Finding) bool {
	if slices.Contains([]string{"evicted", "released-without-holding", "released-twice", "refused-though-free"}, x.Rule) {
		// Only the first wrong answer to a session is reported, under one of its keys.
		return x.Rule == before.Rule && x.Sessions[0] == before.Sessions[0]
	}
	if x.Rule == "stale-write" && before.Rule == "lost-update" {
		x.Rule = before.Rule // the removed session had read the value, which showed that the resource is a counter
	}
	if x.Rule != before.Rule || x.Class > before.Class || x.Key != before.Key {
		// Two sessions that overlap under several keys have one finding. The remaining partner may be a
		// reader where the removed one was a writer.
		exclusion := []string{"two-holders", "reader-and-writer"}
		return slices.Contains(exclusion, x.Rule) && slices.Contains(exclusion, before.Rule) && x.Class <= before.Class && x.Event == before.Event
	}
	if x.Rule == "overtaken" {
		return x.Sessions[0] == before.Sessions[0]
	}
	return x.Event == before.Event
}

// explained reports whether x is new only because removed sessions explained the events of x:
//
//	refused-though-free  A removed session may have held the lock: 0.0 A ok, 0.1 B is refused, without A.
//	no-progress,         A removed session was granted the lock in the recovery period or meanwhile, or may have held it.
//	lost-wake-up,
//	unavailable
//	lost-update,         A removed session wrote between other writes. In 5, 3, 4 the write of 3 undoes an update
//	stale-write          and the write of 4 does not. Without the 3, the write of 4 does.
//	token-fell           After a lower token, tokens are compared with it. In 6, 4, 5 the 4 is a finding. Without
//	                     it, the 5 is one.
//	handed-over-early    Each death has one finding, for the first grant after it. Without that grant, the finding
//	                     is about the second one.
//	not-linearizable     Only the first double grant is searched, and now another one is the first. Or a removed
//	                     session had the only lease, so that the history is now searched. Or "not held" may have
//	                     referred to another session of the owner.
//
//	released-without-holding  For an acquire with unknown outcome, the finding depends on the order of all holders
//	                          of the key. If they have no order, because two held at once or one released twice,
//	                          only that defect is reported. And if a refusal and a release both need the same
//	                          unknown acquire as explanation, either of them may be reported.
//
// Another session of the same owner explains many answers: it may hold at the same time
// (released-without-holding, released-twice, evicted, overtaken), have a token already (token-repeated), or have
// requested a longer lease (lease-long; readers of a key share a lease).
func explained(h *history.History, before Report, x Finding, gone []*history.Session) bool {
	key := func(s *history.Session) bool { return x.Key == "" || slices.Contains(s.Keys, x.Key) }
	shared := slices.ContainsFunc(gone, key)
	found := func(rule string) bool { // a finding about a removed session
		for _, c := range before.Checks {
			for _, f := range c.Findings {
				if f.Rule == rule && f.Key == x.Key && slices.ContainsFunc(gone, func(s *history.Session) bool { return slices.Contains(f.Sessions, s.Name) }) {
					return true
				}
			}
		}
		return false
	}
	owner := slices.ContainsFunc(gone, func(s *history.Session) bool {
		return slices.ContainsFunc(h.Sessions, func(o *history.Session) bool {
			return o.Owner == s.Owner && slices.Contains(x.Sessions, o.Name) && // a finding names only one of several keys
				slices.ContainsFunc(s.Keys, func(name string) bool { return slices.Contains(o.Keys, name) })
		})
	})
	switch x.Rule {
	case "refused-though-free", "no-progress", "lost-wake-up", ruleUnavailable:
		return shared
	case "released-without-holding":
		return owner || len(x.Sessions) == 1 && (contradicted(h, before, x.Key) || shared && strictly(h, x.Key))
	case "lost-update", "stale-write":
		return slices.ContainsFunc(gone, func(s *history.Session) bool {
			return slices.ContainsFunc(s.Ops, func(op history.Op) bool { return op.F == history.Write })
		})
	case "token-fell", "handed-over-early":
		return found(x.Rule)
	case "not-linearizable":
		_, wasJudged := firstOf(before)
		c, _ := before.Check(Linearizable)
		return shared || owner || wasJudged || leased(h) || strings.HasPrefix(c.Note, "not judged: more than")
	case "evicted", "overtaken", "token-repeated", "released-twice":
		return owner
	case "lease-long":
		return owner || shared && h.Header.Model.Has(history.RW)
	}
	return false
}

// strictly reports whether a client got a strict refusal for a key.
func strictly(h *history.History, key string) bool {
	return slices.ContainsFunc(h.Sessions, func(s *history.Session) bool {
		e := h.At(s.Acquire.Return)
		return e != nil && e.Strict && slices.Contains(s.Keys, key)
	})
}

func firstOf(r Report) (*Finding, bool) {
	x, _ := r.Check(Exclusion)
	f := firstDoubleGrant(x)
	return f, f != nil
}

// firstDoubleGrant returns the first double grant among the findings of a check, or nil.
func firstDoubleGrant(r Result) *Finding {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Class == DoubleGrant })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}
