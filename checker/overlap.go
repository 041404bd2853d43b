package checker

import (
	"fmt"
	"time"

	"lockbench/checker/hold"
)

// overlap is a pair of overlapping holds of one key that exclude each other.
type overlap struct {
	key            string
	earlier, later *hold.Hold // in the order of grants
	class          Class
}

// classify returns the class of an overlap by what the two clients could have known. The order of the
// grants makes no difference: a client that is paused between its grant and its first operation finds
// its lease over, like a client that is paused later.
func classify(l *ledger, earlier, later *hold.Hold) Class {
	class, at := Overstay, later.Grant
	if both := hold.Meet(earlier.Least.Beliefs, later.Least.Beliefs); both >= 0 {
		class, at = DoubleGrant, both
	} else if both := hold.Meet(earlier.Most.Beliefs, later.Most.Beliefs); both >= 0 {
		class, at = Undetermined, both
	}
	if at >= l.Stepped {
		return Undetermined
	}
	return class
}

// findingOf returns the finding about an overlap.
func findingOf(l *ledger, o overlap) Finding {
	a, b := o.earlier, o.later
	rule := "two-holders"
	if a.Session.Mode != b.Session.Mode {
		rule = "reader-and-writer"
	}
	return heldAtOnce(l, rule, o.class, o.key, overlapText(l, o), a, b)
}

// heldAtOnce returns the finding that a still held when b was granted the lock. Its evidence ends
// with the event up to which both certainly worked.
func heldAtOnce(l *ledger, rule string, class Class, key, text string, a, b *hold.Hold) Finding {
	f := twoGrants(rule, key, text, a, b)
	f.Class = class
	_, last := workEnd(l, a)
	_, other := workEnd(l, b)
	if last = min(last, other); last > b.Grant {
		f.Events = append(f.Events, last)
	}
	return f
}

// twoGrants returns a finding that two grants prove, the earlier one first.
func twoGrants(rule, key, text string, a, b *hold.Hold) Finding {
	return Finding{
		Rule: rule, Key: key, Text: text, Event: b.Grant,
		Events:   []int{a.Session.Acquire.Invoke, a.Grant, b.Session.Acquire.Invoke, b.Grant},
		Sessions: []string{a.Session.Name, b.Session.Name},
	}
}

// workEnd returns the time up to which the work of a hold certainly continued, and its last event: the
// release call, the last sign, or the last event before the deadline.
func workEnd(l *ledger, t *hold.Hold) (time.Duration, int) {
	to := t.Least.Work.To
	switch {
	case to == t.Claim.To && t.Asked:
		return l.h.Events[to].Time, to
	case to == t.Sign+1 || to == t.Grant+1 || to == len(l.h.Events):
		return l.h.Events[to-1].Time, to - 1
	case t.Least.Paused >= 0:
		return t.Least.Paused, to - 1
	}
	return min(t.Least.Deadline, l.h.Events[to].Time), to - 1
}

// overlapText describes an overlap in one sentence with clients, key and times.
func overlapText(l *ledger, o overlap) string {
	a, b := o.earlier, o.later
	key, first, second := fmt.Sprintf("%q", o.key), client(a, b), client(b, a)
	ended, _ := workEnd(l, a)
	granted := secondsAt(l, b.Grant)
	held := "held it until " + seconds(ended)
	if a.Least.Work.To == len(l.h.Events) {
		held = "held it to the end"
	}
	switch {
	case o.class == Undetermined:
		return fmt.Sprintf("%s was granted to %s at %s while %s %s; it is uncertain until when they could believe that they held, because %s",
			key, second, granted, first, held, doubt(l, a, b))
	case o.class == DoubleGrant:
		return fmt.Sprintf("%s was granted to %s at %s while %s %s (%s)", key, second, granted, first, held, leaseText(l, a, b.Grant))
	case believes(a, b.Grant):
		return fmt.Sprintf("%s was granted to %s at %s, when %s; %s worked on while %s %s",
			key, second, granted, lapseText(l, b, b.Grant), second, first, held)
	}
	return fmt.Sprintf("%s was granted to %s at %s while %s worked on until %s, though %s",
		key, second, granted, first, seconds(ended), lapseText(l, a, b.Grant))
}

// believes reports whether the client of a hold had no reason to doubt it at a position.
func believes(t *hold.Hold, pos int) bool {
	return hold.Within(t.Most.Beliefs, pos)
}

// leaseText describes a lease that still ran while both clients believed that they held.
func leaseText(l *ledger, t *hold.Hold, pos int) string {
	switch {
	case t.Renewed():
		return "its library renewed its lease"
	case t.Lease.Kind == hold.Answered:
		return "its library reports no end of the lease, which it counted from the answer"
	case t.Least.Deadline == hold.Never:
		return "without a lease, which cannot run out"
	case !believes(t, pos):
		return fmt.Sprintf("%s, but was renewed while both held, until %s", lapseText(l, t, pos), seconds(t.Least.Deadline))
	}
	return "its lease ran until " + seconds(t.Least.Deadline)
}

// lapseText describes why a lease had ended.
func lapseText(l *ledger, t *hold.Hold, pos int) string {
	if t.Renewed() {
		return "it had been paused for too long to renew its lease"
	}
	return "its lease had run out at " + seconds(t.CountedEnd(pos))
}

// doubt describes why the class of an overlap cannot be known.
func doubt(l *ledger, a, b *hold.Hold) string {
	for _, t := range []*hold.Hold{a, b} {
		if t.Lease.Kind == hold.Waited && t.Lease.First != t.Lease.Last {
			return client(t, nil) + " waited for the lock and does not say until when its lease runs"
		}
	}
	return "the machine's clocks moved against each other at " + secondsAt(l, l.Stepped)
}

// client names the client of a hold, and also the session if the other hold has the same client.
func client(t, other *hold.Hold) string {
	name := fmt.Sprintf("client %d", t.Session.Client)
	if other != nil && other.Session.Client == t.Session.Client {
		name += " (session " + t.Session.Name + ")"
	}
	return name
}

// secondsAt returns the time of a position as text.
func secondsAt(l *ledger, pos int) string { return seconds(l.h.Events[pos].Time) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
