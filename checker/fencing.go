package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// fencing asks whether tokens grow with every grant of a key, and no two grants share one.
// A token that repeats harms no client by itself, so these findings have no class. Whether
// the fenced resource accepted a stale token is for [Resource].
//
// Grants of sessions that exclude each other come in the order of their answers, as long
// as the lease of the one that was answered later certainly reached that far. Had it been
// granted first, it would still have been held when the other one was:
//
//	client 1  acquire ── ok token 6            release
//	client 2     acquire, waits ─────────────────────── ok token 5      the token fell
//
// A lease that may have run out before its answer says nothing of the order. Such grants
// are compared only if one had come back before the other was asked for:
//
//	client 1  acquire ──────────────────────────────── ok token 5
//	client 2        acquire ── ok token 6, release
//
// The ok of token 5 comes last, but it may have been granted first, and its lease may have
// run out before client 2's attempt.
func fencing(l *ledger, _ Report) Result {
	h := l.h
	all := l.Granted()
	carried := slices.ContainsFunc(all, func(t *hold.Hold) bool { return l.granted(t).HasToken })
	claimed := h.Header.Claims.Fenced || h.Header.Model.Has(history.Fenced)
	if !carried && claimed && len(all) > 0 {
		return Result{Verdict: Unknown, Why: "the lock claims to give fencing tokens, but no grant carries one"}
	}
	var findings []Finding
	if carried {
		for _, k := range l.Keys() {
			findings = append(findings, l.fell(k)...)
			findings = append(findings, l.fellLate(k)...)
			findings = append(findings, l.repeated(k)...)
		}
	}
	return violated(findings)
}

// granted is the event of a grant.
func (l *ledger) granted(t *hold.Hold) *history.Event { return &l.h.Events[t.Grant] }

// fell finds the grants of a key whose token is below that of an earlier grant.
func (l *ledger) fell(k *hold.Key) []Finding {
	var findings []Finding
	var before []*hold.Hold          // by place: the one with the highest token up to there
	first := 0                       // place from which grants are compared
	var alone, shared latest[uint64] // the highest of those that were granted in the order of their answers
	for i, t := range k.Granted {
		before = append(before, nil)
		if i > first {
			before[i] = before[i-1]
		}
		if !l.granted(t).HasToken {
			continue
		}
		token := l.granted(t).Token
		var highest *hold.Hold
		higher := func(x *hold.Hold) {
			if x != nil && (highest == nil || l.granted(x).Token > l.granted(highest).Token) {
				highest = x
			}
		}
		back, _ := slices.BinarySearchFunc(k.Granted, t.Session.Acquire.Invoke, func(x *hold.Hold, pos int) int { return cmp.Compare(x.Grant, pos) })
		if back > first {
			higher(before[back-1])
		}
		ordered := l.InTime(t)
		if ordered {
			higher(alone.other(t))
			if t.Session.Mode != locks.Shared {
				higher(shared.other(t))
			}
		}
		if highest != nil && token < l.granted(highest).Token {
			findings = append(findings, l.tokens("token-fell", k.Name, highest, t,
				fmt.Sprintf("the token of %q fell from %d (%s, granted at %s) to %d (%s, granted at %s)", k.Name,
					l.granted(highest).Token, client(highest, t), seconds(l.granted(highest).Time),
					token, client(t, highest), seconds(l.granted(t).Time))))
			// A server that lost its counter starts anew, once: the grants after it are
			// compared with each other.
			first, before[i], alone, shared = i, nil, latest[uint64]{}, latest[uint64]{}
		}
		if before[i] == nil || token > l.granted(before[i]).Token {
			before[i] = t
		}
		switch {
		case !ordered:
		case t.Session.Mode == locks.Shared:
			shared.add(t, token)
		default:
			alone.add(t, token)
		}
	}
	return findings
}

// repeated finds the grants of a key whose token was given before. Who enters again may
// get its own once more, but not who had given it all back.
func (l *ledger) repeated(k *hold.Key) []Finding {
	var findings []Finding
	type hand struct {
		token uint64
		owner string
	}
	byToken := map[uint64]*hold.Hold{}
	kept := map[hand]int{} // up to where one of an owner's grants of a token may be held
	for _, t := range k.Granted {
		g := l.granted(t)
		if !g.HasToken {
			continue
		}
		at := hand{g.Token, t.Session.Owner}
		until, again := kept[at]
		mine := again && until >= t.Session.Acquire.Invoke
		kept[at] = max(until, t.Ends.Possible)
		if first, known := byToken[g.Token]; !known {
			byToken[g.Token] = t
		} else if !mine && (first.Session.Owner != t.Session.Owner || !l.owned.mayHaveEntered(t)) {
			findings = append(findings, l.tokens("token-repeated", k.Name, first, t,
				fmt.Sprintf("token %d of %q was given to %s at %s and again to %s at %s", g.Token, k.Name,
					client(first, t), seconds(l.granted(first).Time), client(t, first), seconds(g.Time))))
		}
	}
	return findings
}

func (l *ledger) tokens(rule, key string, earlier, later *hold.Hold, text string) Finding {
	return Finding{
		Rule: rule, Key: key, Text: text, Event: later.Grant,
		Events:   []int{earlier.Session.Acquire.Invoke, earlier.Grant, later.Session.Acquire.Invoke, later.Grant},
		Sessions: []string{earlier.Session.Name, later.Session.Name},
	}
}
