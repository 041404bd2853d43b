package checker

import (
	"fmt"
	"slices"

	"lockbench/internal/history"
)

// Fencing asks whether tokens do what they are for: they grow with every grant of a
// key, no two grants share one, and what the fenced resource accepts never falls. By
// itself a token that repeats harms nobody, so these findings have no class, but for a
// stale write that was let through.
//
// Grants are compared only if one had come back before the other was asked for. Take
// an answer that is late:
//
//	client 1  acquire ──────────────────────────────── ok token 5
//	client 2        acquire ── ok token 6, release
//
// The ok of token 5 comes last, but it was granted first, and its lease may have run
// out before client 2's attempt: no token fell.
type Fencing struct{}

var _ Checker = Fencing{}

// Name returns "fencing".
func (Fencing) Name() string { return "fencing" }

// About says what is judged, in one line.
func (Fencing) About() string {
	return "fencing tokens grow with every grant, and no stale one is accepted"
}

// Check is a pure function of the history.
func (c Fencing) Check(h *history.History, o Options) Result {
	l := newLedger(h, o)
	all := l.tenures()
	carried := slices.ContainsFunc(all, func(t *tenure) bool { return l.granted(t).HasToken })
	claimed := h.Header.Claims.Fenced || h.Header.Model.Has(history.Fenced)
	if !carried && claimed && len(all) > 0 {
		return Result{Name: c.Name(), Verdict: Unknown, Why: "the lock claims to give fencing tokens, but no grant carries one"}
	}
	var findings []Finding
	for _, k := range byKey(all) {
		findings = append(findings, l.grants(k)...)
	}
	findings = append(findings, l.accepted(all)...)
	findings = append(findings, l.strangers(all)...)
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	return violated(c.Name(), findings)
}

// granted is the event of a tenure's grant.
func (l *ledger) granted(t *tenure) *history.Event { return &l.h.Events[t.grant] }

// grants compares the tokens of one key's grants.
func (l *ledger) grants(k keyed) []Finding {
	var findings []Finding
	byToken := map[uint64]*tenure{}
	type hand struct {
		token uint64
		owner string
	}
	held := map[hand][]*tenure{} // that were not given back when the next one was asked for
	asked := slices.Clone(k.tenures)
	slices.SortFunc(asked, func(a, b *tenure) int { return a.session.Acquire.Invoke - b.session.Acquire.Invoke })
	var highest *tenure // of those that came back before the one in hand was asked for
	back := 0
	for _, t := range asked {
		for ; back < len(k.tenures) && k.tenures[back].grant < t.session.Acquire.Invoke; back++ {
			x := k.tenures[back]
			if l.granted(x).HasToken && (highest == nil || l.granted(x).Token > l.granted(highest).Token) {
				highest = x
			}
		}
		if g := l.granted(t); g.HasToken && highest != nil && g.Token < l.granted(highest).Token {
			findings = append(findings, l.tokens("token-fell", k.key, highest, t,
				fmt.Sprintf("the token of %q fell from %d (%s, granted at %s) to %d (%s, granted at %s)", k.key,
					l.granted(highest).Token, client(highest, t), seconds(l.granted(highest).Time),
					g.Token, client(t, highest), seconds(g.Time))))
			// A server that lost its counter starts anew, once: the grants after it are
			// compared with each other.
			highest = nil
		}
	}
	for _, t := range k.tenures {
		g := l.granted(t)
		if !g.HasToken {
			continue
		}
		first, known := byToken[g.Token]
		if !known {
			byToken[g.Token] = t
		}
		// Who enters again may get its own once more, but not who had given it all back.
		at := hand{g.Token, t.session.Owner}
		mine := slices.DeleteFunc(held[at], func(x *tenure) bool { return l.givenBack(x.session, t.session.Acquire.Invoke) })
		held[at] = append(mine, t)
		if known && len(mine) == 0 {
			findings = append(findings, l.tokens("token-repeated", k.key, first, t,
				fmt.Sprintf("token %d of %q was given to %s at %s and again to %s at %s", g.Token, k.key,
					client(first, t), seconds(l.granted(first).Time), client(t, first), seconds(g.Time))))
		}
	}
	return findings
}

func (l *ledger) tokens(rule, key string, earlier, later *tenure, text string) Finding {
	return Finding{
		Rule: rule, Key: key, Text: text, Event: l.index(later.grant),
		Events:   indexes(l, earlier.session.Acquire.Invoke, earlier.grant, later.session.Acquire.Invoke, later.grant),
		Sessions: []string{earlier.session.Name, later.session.Name},
	}
}

// accepted compares the tokens of what the fenced resource let through, in the order
// in which it was applied.
func (l *ledger) accepted(all []*tenure) []Finding {
	type touch struct {
		*tenure
		op    history.Op
		token uint64
	}
	byKey := map[string][]touch{}
	var keys []string
	for _, t := range all {
		for _, op := range t.session.Ops {
			called := l.h.At(op.Invoke)
			if op.F != history.Write || op.Outcome != history.Done || called.Resource != history.Fenced || !called.HasToken {
				continue
			}
			key := t.session.Keys[0]
			if byKey[key] == nil {
				keys = append(keys, key)
			}
			byKey[key] = append(byKey[key], touch{t, op, called.Token})
		}
	}
	var findings []Finding
	for _, key := range keys {
		touches := byKey[key]
		slices.SortFunc(touches, func(a, b touch) int { return a.op.Return - b.op.Return })
		highest := touches[0]
		for _, w := range touches {
			if w.token >= highest.token {
				highest = w
				continue
			}
			if w.session.Owner == highest.session.Owner {
				continue // of the two that it holds by
			}
			a, b := w, highest
			if b.grant < a.grant {
				a, b = b, a
			}
			f := l.tokens("stale-token-accepted", key, a.tenure, b.tenure,
				fmt.Sprintf("the fenced resource of %q accepted token %d of %s at %s, after token %d of %s", key,
					w.token, client(w.tenure, highest.tenure), seconds(l.h.Events[w.op.Return].Time),
					highest.token, client(highest.tenure, w.tenure)))
			f.Class, f.Event = StaleWrite, l.index(w.op.Return)
			f.Events = append(f.Events, indexes(l, highest.op.Return, w.op.Return)...)
			findings = append(findings, f)
		}
	}
	return findings
}

// strangers finds touches with a token that was not granted to their session.
func (l *ledger) strangers(all []*tenure) []Finding {
	var findings []Finding
	for _, t := range all {
		g := l.granted(t)
		for _, op := range t.session.Ops {
			called := l.h.At(op.Invoke)
			if op.F != history.FRead && op.F != history.Write || !called.HasToken || g.HasToken && called.Token == g.Token {
				continue
			}
			given := "no token"
			if g.HasToken {
				given = fmt.Sprintf("token %d", g.Token)
			}
			findings = append(findings, Finding{
				Rule: "token-from-nowhere", Key: t.session.Keys[0], Event: l.index(op.Invoke),
				Text: fmt.Sprintf("the %s of %s at %s came with token %d, but it was granted %s", op.F,
					client(t, nil), seconds(called.Time), called.Token, given),
				Events:   indexes(l, t.session.Acquire.Invoke, t.grant, op.Invoke),
				Sessions: []string{t.session.Name},
			})
		}
	}
	return findings
}
