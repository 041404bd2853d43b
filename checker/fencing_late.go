package checker

import (
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/locks"
)

// fellLate finds the grants that were answered after their own lease, with a token above that of a
// client that had the lock by then. That client held from its own answer until the late answer came,
// as its release proves, so the late grant was made before it, and its token must be lower. A lock that
// draws the number in a request of its own, after the grant, gives such tokens to clients that sleep
// between the two:
//
//	client 1  acquire, lease 2 s ── granted · · · · · · · · · · · ok token 6
//	client 2                                   acquire ── ok token 5 ────────── release ok
func (l *ledger) fellLate(k *hold.Key) []Finding {
	var findings []Finding
	var holding []*hold.Hold // granted alone, with a token and in time, and proven to hold until later
	for _, t := range k.Granted {
		if l.granted(t).Token == nil {
			continue
		}
		holding = slices.DeleteFunc(holding, func(x *hold.Hold) bool { return min(x.Ends.Proven, x.Ends.Lapse) <= t.Grant })
		var lowest *hold.Hold
		for _, x := range holding {
			if hold.Conflict(x, t) && (lowest == nil || *l.granted(x).Token < *l.granted(lowest).Token) {
				lowest = x
			}
		}
		if lowest != nil && l.MayBeLate(t) && *l.granted(lowest).Token < *l.granted(t).Token {
			late, in := l.granted(t), l.granted(lowest)
			f := l.tokens("token-fell", k.Name, t, lowest,
				fmt.Sprintf("the token of %q fell from %d (%s, which was granted it before %s and answered at %s) to %d (%s, granted at %s)",
					k.Name, *late.Token, client(t, lowest), seconds(in.Time), seconds(late.Time), *in.Token, client(lowest, t), seconds(in.Time)))
			f.Event = t.Grant
			findings = append(findings, f)
		}
		if l.InTime(t) && t.Session.Mode != locks.Shared {
			holding = append(holding, t)
		}
	}
	return findings
}
