package checker

import (
	"fmt"
	"time"

	"lockbench/locks"
)

// overlap is two tenures of one key that were not allowed to meet, and did.
type overlap struct {
	key            string
	earlier, later *tenure // in the order of grants
	class          Class
}

// conflict tells whether two tenures of one key exclude each other.
func conflict(a, b *tenure) bool {
	if a.session.Owner == b.session.Owner {
		return false // re-entry
	}
	return a.session.Mode != locks.Shared || b.session.Mode != locks.Shared
}

// meets tells whether the works of two tenures intersect: for sure, or at least
// possibly, if until when a lease ran is not known. The later one begins inside the
// earlier one's work or not at all, so its own end does not matter.
func meets(earlier, later *tenure) (surely, possibly bool) {
	surely = later.grant < earlier.least.work.to && !later.least.work.empty()
	possibly = later.grant < earlier.most.work.to && !later.most.work.empty()
	return surely, possibly
}

// classify says what the two clients could have known. It makes no difference which
// of them was granted first: a client that is paused between its grant and its first
// use of it finds its lease run out just as one that is paused later.
func (l *ledger) classify(earlier, later *tenure) Class {
	class, at := Overstay, later.grant
	if both := meet(earlier.least.beliefs, later.least.beliefs); both >= 0 {
		class, at = DoubleGrant, both
	} else if both := meet(earlier.most.beliefs, later.most.beliefs); both >= 0 {
		class, at = Undetermined, both
	}
	if at >= l.stepped {
		return Undetermined
	}
	return class
}

// finding tells of an overlap: what happened, and where in the history it shows.
func (l *ledger) finding(o overlap) Finding {
	a, b := o.earlier, o.later
	rule := "two-holders"
	if a.session.Mode != b.session.Mode {
		rule = "reader-and-writer"
	}
	return Finding{
		Rule:     rule,
		Class:    o.class,
		Key:      o.key,
		Text:     l.text(o),
		Events:   l.evidence(a, b),
		Sessions: []string{a.session.Name, b.session.Name},
		Event:    l.index(b.grant),
	}
}

// evidence is both acquires and the event up to which the overlap is shown.
func (l *ledger) evidence(a, b *tenure) []int {
	shown := []int{a.session.Acquire.Invoke, a.grant, b.session.Acquire.Invoke, b.grant}
	_, last := l.workEnd(a)
	if _, other := l.workEnd(b); other < last {
		last = other
	}
	if last > b.grant {
		shown = append(shown, last)
	}
	for i := range shown {
		shown[i] = l.index(shown[i])
	}
	return shown
}

// index is what the history calls the event at a position.
func (l *ledger) index(pos int) int { return l.h.Events[pos].Index }

// workEnd is when a tenure's work certainly went on, and the last event of it: the
// release call, the last sign, or what came last before the deadline.
func (l *ledger) workEnd(t *tenure) (time.Duration, int) {
	to := t.least.work.to
	switch {
	case to == t.claim.to && t.asked:
		return l.h.Events[to].Time, to
	case to == t.sign+1 || to == t.grant+1 || to == len(l.h.Events):
		return l.h.Events[to-1].Time, to - 1
	case t.least.paused >= 0:
		return t.least.paused, to - 1
	}
	return min(t.least.deadline, l.h.Events[to].Time), to - 1
}

// text says who, which key, and when, in one sentence.
func (l *ledger) text(o overlap) string {
	a, b := o.earlier, o.later
	key, first, second := fmt.Sprintf("%q", o.key), client(a, b), client(b, a)
	ended, _ := l.workEnd(a)
	granted := seconds(l.h.Events[b.grant].Time)
	held := "held it until " + seconds(ended)
	if a.least.work.to == len(l.h.Events) {
		held = "held it to the end"
	}
	switch {
	case o.class == Undetermined:
		return fmt.Sprintf("%s was granted to %s at %s while %s %s; what they could know is not certain, because %s",
			key, second, granted, first, held, l.doubt(a, b))
	case o.class == DoubleGrant:
		return fmt.Sprintf("%s was granted to %s at %s while %s %s (%s)", key, second, granted, first, held, l.lease(a, b.grant))
	case believes(a, b.grant):
		return fmt.Sprintf("%s was granted to %s at %s, when %s; %s worked on while %s %s",
			key, second, granted, l.lapse(b, b.grant), second, first, held)
	}
	return fmt.Sprintf("%s was granted to %s at %s while %s worked on until %s, though %s",
		key, second, granted, first, seconds(ended), l.lapse(a, b.grant))
}

// believes tells whether a tenure had no reason to doubt at a position.
func believes(t *tenure, pos int) bool {
	return hasAny(t.most.beliefs, pos)
}

// lease tells of one that was good when both believed.
func (l *ledger) lease(t *tenure, pos int) string {
	switch {
	case t.renewed:
		return "its library renewed its lease"
	case t.least.deadline == never:
		return "without a lease, which cannot run out"
	case !believes(t, pos):
		return fmt.Sprintf("its lease had run out at %s, but was renewed while both held, until %s",
			seconds(l.deadlineAt(t, pos)), seconds(t.least.deadline))
	}
	return "its lease ran until " + seconds(t.least.deadline)
}

// lapse tells of one that had run out.
func (l *ledger) lapse(t *tenure, pos int) string {
	if t.renewed {
		return "it had been paused for too long to renew its lease"
	}
	return "its lease had run out at " + seconds(l.deadlineAt(t, pos))
}

// doubt says why a class cannot be known.
func (l *ledger) doubt(a, b *tenure) string {
	for _, t := range []*tenure{a, b} {
		if t.doubtful {
			return client(t, nil) + " waited for the lock and does not say until when its lease runs"
		}
	}
	return "the machine's clocks moved against each other at " + seconds(l.h.Events[l.stepped].Time)
}

// client names the client of a tenure, with the session if the other one's is the same.
func client(t, other *tenure) string {
	name := fmt.Sprintf("client %d", t.session.Client)
	if other != nil && other.session.Client == t.session.Client {
		name += " (session " + t.session.Name + ")"
	}
	return name
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
