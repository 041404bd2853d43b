package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/history"
)

// Law 2: without its evidence a finding is gone, and nothing else is found in its place
// but what the evidence explained. The sessions that a finding names are left out of the
// history with all that was done under them. Then
//
//   - no finding names them, and
//   - no finding is new, or of a worse class, but for those that [explained] names.
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
			e := probe(said{}) // it ends when it did
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
				continue // what a client may send depends on what it was asked for
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

// as tells whether a finding is one that there was, or is what is left of one: with the
// next worst partner where the worst is gone, and of no worse class.
func as(x, before Finding) bool {
	if slices.Contains([]string{"evicted", "released-without-holding", "released-twice", "refused-though-free"}, x.Rule) {
		// A session has one finding for all of its wrong answers: the first, under one key.
		return x.Rule == before.Rule && x.Sessions[0] == before.Sessions[0]
	}
	if x.Rule == "stale-write" && before.Rule == "lost-update" {
		x.Rule = before.Rule // the removed session had read, which showed that it was a counter
	}
	if x.Rule != before.Rule || x.Class > before.Class || x.Key != before.Key {
		// Two sessions that meet under several keys have one finding; of two partners
		// one may be a reader.
		exclusion := []string{"two-holders", "reader-and-writer"}
		return slices.Contains(exclusion, x.Rule) && slices.Contains(exclusion, before.Rule) && x.Class <= before.Class && x.Event == before.Event
	}
	if x.Rule == "overtaken" {
		return x.Sessions[0] == before.Sessions[0]
	}
	return x.Event == before.Event
}

// explained tells whether sessions that are gone may have been why a finding was not there:
//
//	refused-though-free  they may have held                      0.0 A ok   0.1 B is refused   without A
//	no-progress,         they were granted, or may have held     without the one grant of a quiet stretch
//	lost-wake-up
//	lost-update,         their writes stand between others: of 5, 3, 4 the 3 undoes an update and
//	stale-write          4 does not; without the 3 it does
//	token-fell           after a token fell a server counts from there: of 6, 4, 5 the 4 fell, without it the 5 did
//	handed-over-early    each death has one finding: without the first grant after it the second is the one
//	not-linearizable     another double-grant is the first, and the general search looks at one;
//	                     or they had the only lease, and histories with leases are not searched;
//	                     or an owner's other session may have been meant by "not held"
//
//	released-without-holding  of an unknown acquire: it rests on the order of all who held the key, and
//	                          where there is none (two hold at once, one released twice) that may be
//	                          told alone. And of a refusal and a release that only one unknown acquire could
//	                          explain either may be told, once no other session explains the refusal
//
// An owner's other session explains many of its answers: a hold that it has
// besides (released-without-holding, released-twice, evicted, overtaken), a token that it has already
// (token-repeated), a longer lease that it asked for (lease-long, which
// readers of one key ask for together).
func explained(h *history.History, before Report, x Finding, gone []*history.Session) bool {
	key := func(s *history.Session) bool { return x.Key == "" || slices.Contains(s.Keys, x.Key) }
	shared := slices.ContainsFunc(gone, key)
	found := func(rule string) bool { // of one who is gone
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
			return o.Owner == s.Owner && slices.Contains(x.Sessions, o.Name) && // of several keys a finding names one
				slices.ContainsFunc(s.Keys, func(name string) bool { return slices.Contains(o.Keys, name) })
		})
	})
	switch x.Rule {
	case "refused-though-free", "no-progress", "lost-wake-up":
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

// strictly tells whether a client was refused a key strictly.
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
