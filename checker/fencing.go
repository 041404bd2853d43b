package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// fencing checks that tokens grow with every grant of a key and that no two grants have the same token. A repeated token by
// itself harms no client, so these findings have no class. [Resource] checks whether a resource accepted a stale
// token.
//
// Grants to sessions that exclude each other took effect in the order of their answers if the lease of the later answer
// certainly reached its answer: if it had been granted first, it would still have been held at the other grant. Other
// grants are compared only if one was answered before the other was requested:
//
//	client 1  acquire ──────────────────────────────── ok token 5     perhaps granted first
//	client 2        acquire ── ok token 6, release
func fencing(l *ledger, _ Report) Result {
	carried := slices.ContainsFunc(l.Granted, func(t *hold.Hold) bool { return grantOf(l, t).Token != nil })
	claimed := l.h.Header.Claims.Fenced || l.h.Header.Model.Has(history.Fenced)
	if !carried && claimed && len(l.Granted) > 0 {
		return Result{Verdict: Unknown, Why: "the lock claims to give fencing tokens, but no grant carries one"}
	}
	var findings []Finding
	if carried {
		for _, k := range l.Keys {
			findings = append(findings, fell(l, k)...)
			findings = append(findings, fellLate(l, k)...)
			findings = append(findings, repeated(l, k)...)
		}
	}
	return violated(findings)
}

// grantOf returns the event of a grant.
func grantOf(l *ledger, t *hold.Hold) *history.Event { return &l.h.Events[t.Grant] }

// fell finds the grants of a key whose token is below that of an earlier grant.
func fell(l *ledger, k *hold.Key) []Finding {
	var findings []Finding
	highest := make([]*hold.Hold, len(k.Granted)) // by index: the grant with the highest token from first up to the index
	first := 0
	for i, t := range k.Granted {
		if i > first {
			highest[i] = highest[i-1]
		}
		if grantOf(l, t).Token == nil {
			continue
		}
		var above *hold.Hold // the grant with the highest token before t
		back, _ := slices.BinarySearchFunc(k.Granted, t.Session.Acquire.Invoke, func(x *hold.Hold, pos int) int { return cmp.Compare(x.Grant, pos) })
		if back > first {
			above = highest[back-1]
		}
		if l.InTime(t) {
			for _, x := range k.Granted[max(back, first):i] {
				if grantOf(l, x).Token != nil && l.InTime(x) && hold.Conflict(x, t) {
					above = higher(l, above, x)
				}
			}
		}
		if above != nil && *grantOf(l, t).Token < *grantOf(l, above).Token {
			findings = append(findings, twoGrants("token-fell", k.Name,
				fmt.Sprintf("the token of %q fell from %d (%s, granted at %s) to %d (%s, granted at %s)", k.Name,
					*grantOf(l, above).Token, client(above, t), secondsAt(l, above.Grant), *grantOf(l, t).Token, client(t, above), secondsAt(l, t.Grant)),
				above, t))
			// A server that lost its counter is reported once. Later grants are compared with each other.
			first, highest[i] = i, nil
		}
		highest[i] = higher(l, highest[i], t)
	}
	return findings
}

// higher returns the grant with the higher token; a may be nil.
func higher(l *ledger, a, b *hold.Hold) *hold.Hold {
	if a == nil || *grantOf(l, b).Token > *grantOf(l, a).Token {
		return b
	}
	return a
}

// repeated finds the grants of a key whose token an earlier grant had. An owner that enters again may get its own token again,
// but not after it has released all its holds.
func repeated(l *ledger, k *hold.Key) []Finding {
	var findings []Finding
	type hand struct {
		token uint64
		owner string
	}
	byToken := map[uint64]*hold.Hold{}
	kept := map[hand]int{} // up to which position an owner may hold a grant with a token
	for _, t := range k.Granted {
		g := grantOf(l, t)
		if g.Token == nil {
			continue
		}
		at := hand{*g.Token, t.Session.Owner}
		until, again := kept[at]
		mine := again && until >= t.Session.Acquire.Invoke
		kept[at] = max(until, t.Ends.Possible)
		if first, known := byToken[*g.Token]; !known {
			byToken[*g.Token] = t
		} else if !mine && (first.Session.Owner != t.Session.Owner || !l.owned.mayHaveEntered(t)) {
			findings = append(findings, twoGrants("token-repeated", k.Name,
				fmt.Sprintf("token %d of %q was given to %s at %s and again to %s at %s", *g.Token, k.Name,
					client(first, t), secondsAt(l, first.Grant), client(t, first), secondsAt(l, t.Grant)), first, t))
		}
	}
	return findings
}

// fellLate finds the grants that were answered after their own lease with a token above that of the next holder. The next
// holder held from its own answer until the late answer, as its release proves. So the late grant came first, and its
// token must be lower. A lock that draws the token in a second request after the grant gives such tokens to clients
// that are paused between the two requests:
//
//	client 1  acquire, lease 2 s ── granted · · · · · · · · · · · ok token 6
//	client 2                                   acquire ── ok token 5 ────────── release ok
func fellLate(l *ledger, k *hold.Key) []Finding {
	var findings []Finding
	var holding []*hold.Hold // exclusive grants with a token that were answered in time and proven to hold until later
	for _, t := range k.Granted {
		if grantOf(l, t).Token == nil {
			continue
		}
		holding = slices.DeleteFunc(holding, func(x *hold.Hold) bool { return min(x.Ends.Proven, x.Ends.Lapse) <= t.Grant })
		var lowest *hold.Hold
		for _, x := range holding {
			if hold.Conflict(x, t) && (lowest == nil || *grantOf(l, x).Token < *grantOf(l, lowest).Token) {
				lowest = x
			}
		}
		if lowest != nil && l.MayBeLate(t) && *grantOf(l, lowest).Token < *grantOf(l, t).Token {
			in := secondsAt(l, lowest.Grant)
			f := twoGrants("token-fell", k.Name,
				fmt.Sprintf("the token of %q fell from %d (%s, which was granted it before %s and answered at %s) to %d (%s, granted at %s)", k.Name,
					*grantOf(l, t).Token, client(t, lowest), in, secondsAt(l, t.Grant), *grantOf(l, lowest).Token, client(lowest, t), in), t, lowest)
			f.Event = t.Grant
			findings = append(findings, f)
		}
		if l.InTime(t) && t.Session.Mode != locks.Shared {
			holding = append(holding, t)
		}
	}
	return findings
}
