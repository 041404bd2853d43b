package checker

import (
	"fmt"
	"slices"
)

// semaphore is exclusion where a lock can be held several times: the permits of all
// whose work goes on are summed at each grant. They grow at grants alone, so that is
// where the sum is highest. Beliefs are summed there, too; one that comes back later,
// by a late renewal, does not raise a class.
func (l *ledger) semaphore(name string, keys []keyed) Result {
	permits := l.h.Header.Permits
	if permits < 1 {
		return Result{Name: name, Verdict: Unknown, Why: "the model is semaphore, but the header does not say how many permits there are"}
	}
	var findings []Finding
	open := 0
	for _, k := range keys {
		var holders active
		for _, t := range k.tenures {
			holders.drop(t.grant)
			holders.add(t)
			surely, possibly := 0, 0
			believed, perhaps := 0, 0
			for _, a := range holders.tenures {
				n := a.session.Permits
				surely += n * count(a.least.work.has(t.grant))
				possibly += n * count(a.most.work.has(t.grant))
				believed += n * count(hasAny(a.least.beliefs, t.grant))
				perhaps += n * count(hasAny(a.most.beliefs, t.grant))
			}
			switch {
			case t.most.work.empty() || possibly <= permits:
			case surely <= permits:
				open++
			default:
				class := Overstay
				if believed > permits {
					class = DoubleGrant
				} else if perhaps > permits {
					class = Undetermined
				}
				if t.grant >= l.stepped {
					class = Undetermined
				}
				findings = append(findings, l.tooMany(k.key, t, holders.tenures, surely, class))
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(name, findings)
	if r.Verdict == Valid && open > 0 {
		r.Verdict = Unknown
		r.Why = fmt.Sprintf("at %d grants it cannot be known how many permits were held: clients waited and did not say until when their leases run", open)
	}
	return r
}

// tooMany names, of those that held with t, the one whose work went on longest.
func (l *ledger) tooMany(key string, t *tenure, holders []*tenure, held int, class Class) Finding {
	a := t
	for _, other := range holders {
		if other != t {
			a = other
			break
		}
	}
	ended, _ := l.workEnd(a)
	return Finding{
		Rule: "too-many-permits", Class: class, Key: key, Event: l.index(t.grant),
		Text: fmt.Sprintf("%q was granted to %s at %s, and then %d permits of %d were held (%d of them by %s until %s)",
			key, client(t, a), seconds(l.h.Events[t.grant].Time), held, l.h.Header.Permits,
			a.session.Permits, client(a, t), seconds(ended)),
		Events:   l.evidence(a, t),
		Sessions: []string{a.session.Name, t.session.Name},
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func hasAny(spans []span, pos int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.has(pos) })
}
