package checker

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"lockbench/checker/hold"
)

// permits judges a semaphore, a lock that several clients hold at once. At each grant it sums the
// permits of all holders whose work certainly continues. A sum above the number of permits is a
// violation. Sums grow only at grants, so a grant has the highest sum.
//
// No other property of a semaphore is judged. So the verdict is violated or unknown, never valid.
func (l *ledger) permits() Result {
	if l.h.Header.Permits < 1 {
		return Result{Verdict: Unknown, Why: "the model is semaphore, but the header does not say how many permits there are"}
	}
	var findings []Finding
	for _, k := range l.Keys {
		var open []*hold.Hold // the holds whose work or belief may continue
		for _, t := range k.Granted {
			open = slices.DeleteFunc(open, func(a *hold.Hold) bool { return heldTo(a) <= t.Grant })
			open = append(open, t)
			works := func(a *hold.Hold) bool { return t.Grant < a.Least.Work.To && !a.Least.Work.Empty() }
			if held := permitsOf(open, works); works(t) && l.tooMany(held) {
				findings = append(findings, l.tooManyPermits(k.Name, open, t, held))
			}
		}
	}
	r := violated(findings)
	if r.Verdict == Valid {
		r.Verdict, r.Why = Unknown, "no more permits were held than there are, and nothing else is judged of a semaphore"
	}
	return r
}

// heldTo returns the last position up to which a hold can count, because its client works or believes.
func heldTo(a *hold.Hold) int {
	to := max(a.Least.Work.To, a.Most.Work.To)
	if beliefs := a.Most.Beliefs; len(beliefs) > 0 {
		to = max(to, beliefs[len(beliefs)-1].To)
	}
	return to
}

func (l *ledger) tooMany(held uint64) bool { return held > uint64(l.h.Header.Permits) }

// permitsOf sums the permits of the holds that count. On overflow it returns the greatest number.
func permitsOf(holds []*hold.Hold, counts func(*hold.Hold) bool) uint64 {
	var sum, carry uint64
	for _, a := range holds {
		if counts(a) {
			if sum, carry = bits.Add64(sum, uint64(a.Session.Permits), 0); carry > 0 {
				return math.MaxUint64
			}
		}
	}
	return sum
}

// permitClass returns the class of too many permits at the grant of t, by the beliefs of the holders.
func (l *ledger) permitClass(open []*hold.Hold, t *hold.Hold) Class {
	class, at := Overstay, t.Grant
	if sure := l.allBelieve(open, t, func(a *hold.Hold) []hold.Span { return a.Least.Beliefs }); sure >= 0 {
		class, at = DoubleGrant, sure
	} else if perhaps := l.allBelieve(open, t, func(a *hold.Hold) []hold.Span { return a.Most.Beliefs }); perhaps >= 0 {
		class, at = Undetermined, perhaps
	}
	if at >= l.Stepped {
		return Undetermined
	}
	return class
}

// allBelieve returns the first position at which t and others believe that they hold, and have too many
// permits together; or -1. A sum of beliefs grows where a belief begins: at the grant, or later at the
// renewal of a lease that had ended.
func (l *ledger) allBelieve(open []*hold.Hold, t *hold.Hold, beliefs func(*hold.Hold) []hold.Span) int {
	first := -1
	for _, a := range open {
		for _, s := range beliefs(a) {
			pos := max(s.From, t.Grant)
			if pos >= s.To || first >= 0 && first <= pos || !hold.Within(beliefs(t), pos) {
				continue
			}
			if l.tooMany(permitsOf(open, func(b *hold.Hold) bool { return hold.Within(beliefs(b), pos) })) {
				first = pos
			}
		}
	}
	return first
}

// tooManyPermits returns a finding that names t and the other holder whose work continues longest.
func (l *ledger) tooManyPermits(key string, open []*hold.Hold, t *hold.Hold, held uint64) Finding {
	a := t
	for _, other := range open {
		if other != t && (a == t || other.Most.Work.End().Compare(a.Most.Work.End()) > 0) {
			a = other
		}
	}
	ended, _ := l.workEnd(a)
	text := fmt.Sprintf("%q was granted to %s at %s, and then %d permits of %d were held (%d of them by %s until %s)",
		key, client(t, a), l.at(t.Grant), held, l.h.Header.Permits, a.Session.Permits, client(a, t), seconds(ended))
	return l.heldAtOnce("too-many-permits", l.permitClass(open, t), key, text, a, t)
}
