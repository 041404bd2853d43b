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

// grantedEarly finds locks of dead clients that were granted to another client during the lease of the dead client. The client may have
// died before or after its grant was answered; the lease is the same. If the dead client still worked at the grant,
// exclusion reports the overlap.
func grantedEarly(l *ledger) []Finding {
	var findings []Finding
	for _, k := range l.Keys {
		dead := dyingHolds(l, k)
		if len(dead) == 0 {
			continue
		}
		all := moments(l, k)
		slices.SortStableFunc(all, func(x, y moment) int { return cmp.Compare(x.to, y.to) })
		alone := slices.DeleteFunc(slices.Clone(all), func(m moment) bool { return m.hold.Session.Mode == locks.Shared })
		reported := map[*hold.Hold]bool{} // one finding for each grant
		for _, a := range dead {
			moments := all
			if a.Session.Mode == locks.Shared {
				moments = alone
			}
			if m, ok := takenOverFrom(l, a, moments, reported); ok {
				reported[m.hold] = true
				findings = append(findings, handedOver(l, k.Name, a, m))
			}
		}
	}
	return findings
}

// takenOverFrom returns the first position that shows that the lock of a dead client was granted to another client.
func takenOverFrom(l *ledger, a dying, moments []moment, reported map[*hold.Hold]bool) (moment, bool) {
	first, _ := slices.BinarySearchFunc(moments, a.Grant, func(m moment, pos int) int { return cmp.Compare(m.to, pos) })
	for _, m := range moments[first:] {
		if m.to >= min(a.asked, l.Stepped) || a.until-hold.Slack <= l.h.Events[m.to].Time {
			break
		}
		if !reported[m.hold] && hold.Conflict(a.Hold, m.hold) && a.Grant < m.from && a.Least.Work.To <= m.from {
			return m, true
		}
	}
	return moment{}, false
}

// dying is a hold of a client that died before its release, with the end of the lease. A renewal without an answer may have
// shortened the lease.
type dying struct {
	*hold.Hold
	until time.Duration
	asked int // the first release or answer "not held"
}

// dyingHolds returns the holds of dead clients of a key in the order of the deaths.
func dyingHolds(l *ledger, k *hold.Key) []dying {
	var all []dying
	for _, d := range k.Granted {
		if d.Session.DiedAt < 0 || l.MayBeLate(d) {
			continue
		}
		until, _ := d.LeaseEnd(len(l.h.Events))
		if d.Renewed() { // the number of renewals is unknown, but the grant is certain
			until = hold.Later(l.h.At(d.Session.Acquire.Invoke).Time, d.Lease.Length)
		}
		if until == hold.Never {
			continue
		}
		all = append(all, dying{d, until, askedBack(l, d.Session)})
	}
	slices.SortStableFunc(all, func(a, b dying) int { return cmp.Compare(a.Session.DiedAt, b.Session.DiedAt) })
	return all
}

// askedBack returns the position of the first release or answer "not held" of a session, or a position past the end.
func askedBack(l *ledger, s *history.Session) int {
	first := len(l.h.Events)
	for _, op := range s.Ops {
		if op.F == history.Release || op.Outcome == history.Failed && op.F != history.FRead && op.F != history.Write {
			first = min(first, op.Invoke)
		}
	}
	if len(s.Lost) > 0 {
		return 0 // its library may have released the lock before it reported the loss
	}
	return first
}

func handedOver(l *ledger, key string, a dying, m moment) Finding {
	t := m.hold
	events := []int{a.Session.Acquire.Invoke, a.Grant, a.Session.DiedAt, t.Session.Acquire.Invoke, m.to}
	slices.Sort(events)
	return Finding{
		Rule: "handed-over-early", Key: key, Event: m.to,
		Text: fmt.Sprintf("%q was granted to %s at %s, but %s died at %s with a lease until %s and had not released it", key,
			client(t, a.Hold), secondsAt(l, m.to), client(a.Hold, t), secondsAt(l, a.Session.DiedAt), seconds(a.until)),
		Events:   slices.Compact(events),
		Sessions: []string{a.Session.Name, t.Session.Name},
	}
}
