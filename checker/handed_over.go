package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// early finds what was handed over although a dead client's lease still kept it. The
// client may have died before the grant, or after it: then it may have been the last to
// know, and its lease ran all the same. What it still worked on is for exclusion to tell.
func (l *ledger) early() []Finding {
	var findings []Finding
	for _, k := range l.Keys() {
		at := l.dying(k)
		if len(at) == 0 {
			continue
		}
		var alone, shared []dying
		moments := l.moments(k)
		// Each death is told of once, where it first shows.
		slices.SortStableFunc(moments, func(x, y moment) int { return cmp.Compare(x.to, y.to) })
		for _, m := range moments {
			for len(at) > 0 && at[0].Grant < m.to {
				if at[0].Session.Mode == locks.Shared {
					shared = append(shared, at[0])
				} else {
					alone = append(alone, at[0])
				}
				at = at[1:]
			}
			if m.to >= l.Stepped() {
				break
			}
			alone = l.running(alone, m)
			if a, ok := robbed(alone, m); ok {
				findings = append(findings, l.handedOver(k.Name, a, m))
				alone = otherThan(alone, a)
			} else if m.hold.Session.Mode != locks.Shared {
				shared = l.running(shared, m)
				if a, ok := robbed(shared, m); ok {
					findings = append(findings, l.handedOver(k.Name, a, m))
					shared = otherThan(shared, a)
				}
			}
		}
	}
	return findings
}

// dying is a hold of a client that died and had not given it back, and the end of its
// lease; a renewal without an answer may have made it shorter.
type dying struct {
	*hold.Hold
	until time.Duration
	asked int // where it was first asked to be released, or told that it is held no more
}

// dying are those of a key, in the order of their grants.
func (l *ledger) dying(k *hold.Key) []dying {
	var all []dying
	for _, d := range k.Granted {
		if d.Session.DiedAt < 0 || l.MayBeLate(d) {
			continue
		}
		until, _ := d.LeaseEnd(len(l.h.Events))
		if d.Renewed() { // it is not known how often it was renewed, but it was granted
			until = hold.Later(l.h.At(d.Session.Acquire.Invoke).Time, d.Lease.Length)
		}
		if until == hold.Never {
			continue
		}
		all = append(all, dying{d, until, l.askedBack(d.Session)})
	}
	return all
}

// askedBack is where a session was first asked to be released, or told that it is held no
// more; past the end if it never was.
func (l *ledger) askedBack(s *history.Session) int {
	first := len(l.h.Events)
	for _, op := range s.Ops {
		if op.F == history.Release || op.Outcome == history.Failed && op.F != history.FRead && op.F != history.Write {
			first = min(first, op.Invoke)
		}
	}
	if len(s.Lost) > 0 {
		return 0 // its library may have let go before it told so
	}
	return first
}

// running are those whose leases certainly run beyond a moment.
func (l *ledger) running(all []dying, m moment) []dying {
	at := l.h.Events[m.to].Time
	return slices.DeleteFunc(all, func(a dying) bool { return a.until-hold.Slack <= at })
}

// robbed is the one of which a moment shows that its lock was given away. Only what lies
// behind its work is looked at.
func robbed(all []dying, m moment) (dying, bool) {
	return firstToDie(all, func(a dying) bool {
		return hold.Conflict(a.Hold, m.hold) && a.Grant < m.from && a.Least.Work.To <= m.from && m.to < a.asked
	})
}

// firstToDie is the one that is told of. Who dies later does not change what was said before.
func firstToDie(all []dying, counts func(dying) bool) (first dying, ok bool) {
	for _, a := range all {
		if counts(a) && (!ok || a.Session.DiedAt < first.Session.DiedAt) {
			first, ok = a, true
		}
	}
	return first, ok
}

func otherThan(all []dying, a dying) []dying {
	return slices.DeleteFunc(all, func(x dying) bool { return x.Hold == a.Hold })
}

func (l *ledger) handedOver(key string, a dying, m moment) Finding {
	t := m.hold
	return Finding{
		Rule: "handed-over-early", Key: key, Event: m.to,
		Text: fmt.Sprintf("%q was granted to %s at %s, but %s died at %s with a lease until %s and had not released it", key,
			client(t, a.Hold), seconds(l.h.Events[m.to].Time), client(a.Hold, t), seconds(l.h.Events[a.Session.DiedAt].Time), seconds(a.until)),
		Events:   sorted(a.Session.Acquire.Invoke, a.Grant, a.Session.DiedAt, t.Session.Acquire.Invoke, m.to),
		Sessions: []string{a.Session.Name, t.Session.Name},
	}
}

func sorted(positions ...int) []int {
	slices.Sort(positions)
	return slices.Compact(positions)
}
