package report

import (
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// freeing is a release of another session that explains the finding.
type freeing struct {
	*holder
	op history.Op
	at int // where the story shows it
	// late: the request was called before the first grant and may have arrived after it.
	late bool
}

// causesMax is how many causes a story shows, the last ones before the finding.
const causesMax = 2

// findCauses returns the releases of other sessions that may have let the later client in while the first one held, or those
// after which the lock was free although it was refused.
func (s *story) findCauses() []freeing {
	if s.a == nil {
		return nil
	}
	var all []freeing
	for _, o := range s.h.Sessions {
		if o == s.a.session || s.b != nil && o == s.b.session || o.Acquire.Invoke >= s.meets || !slices.Contains(o.Keys, s.key) {
			continue
		}
		for _, op := range o.Ops {
			if op.F != history.Release || op.Invoke >= s.meets {
				continue
			}
			c := freeing{holder: newHolder(s.holds, o), op: op, at: op.Invoke, late: op.Invoke < s.a.granted}
			if answers(op) && op.Return <= s.meets {
				c.at = op.Return
			}
			if s.explains(c) {
				all = append(all, c)
			}
		}
	}
	// A release without an answer explains less than one that worked or was held up by a fault.
	likely := slices.DeleteFunc(slices.Clone(all), func(c freeing) bool { return c.op.Outcome == history.Maybe && !s.arrivesLate(c) })
	most := causesMax
	if len(likely) > 0 {
		all = likely
	}
	if s.untaken() || len(likely) == 0 {
		most = 1
	}
	slices.SortFunc(all, func(x, y freeing) int { return x.at - y.at })
	return all[max(0, len(all)-most):]
}

// untaken reports whether the finding is that a client did not get a lock that was free. Its cause is the end of the hold before.
func (n *incident) untaken() bool {
	return n.finding.Rule == refusedRule || n.finding.Rule == lostWakeUpRule
}

// explains reports whether a release may have ended the hold of the first client. A release that was called before that hold and
// answered within it does so only if its session did not hold any more at the call: otherwise it ended its own hold,
// which let the first client in.
func (s *story) explains(c freeing) bool {
	if s.untaken() {
		return c.op.Outcome != history.Failed
	}
	if !s.together && s.finding.Rule != "evicted" && s.finding.Rule != "released-without-holding" {
		return false
	}
	switch {
	case c.op.Outcome == history.Failed:
		return false
	case answers(c.op):
		return c.op.Return > s.a.granted && (!c.late || s.over(c))
	}
	return !c.late || s.arrivesLate(c)
}

// answers reports whether a release was answered as if it had worked.
func answers(op history.Op) bool {
	return op.Outcome == history.Done || op.Outcome == history.Unconfirmed
}

// over reports whether the hold of a session was over when it called its release: its lease had ended, or another client had
// been granted the lock since.
func (s *story) over(c freeing) bool {
	if l := c.lease(c.op.Invoke); l.kind == hold.Bounded && l.deadline < s.at(c.op.Invoke) {
		return true
	}
	return slices.ContainsFunc(s.holds.Granted, func(d *hold.Hold) bool {
		return d.Grant > c.granted && d.Grant < s.a.granted && d.Session != s.a.session && slices.Contains(d.Session.Keys, s.key) && hold.Conflict(d, c.hold)
	})
}

// arrivesLate reports whether a fault may have held up the request until the first client held.
func (s *story) arrivesLate(c freeing) bool {
	return slices.ContainsFunc(s.h.Faults, func(f history.Fault) bool {
		return f.HoldsUp(c.session.Client) && f.Strikes(c.session.Client) && f.Begins <= max(c.op.Invoke, c.op.Return) && f.Healed > s.a.granted && f.Healed <= s.meets
	})
}

// causeRows are the releases that explain the finding.
func (s *story) causeRows() []row {
	var rows []row
	for i, c := range s.causes {
		weight := vital
		if i < len(s.causes)-1 {
			weight = helpful
		}
		rows = append(rows, row{at: c.at, who: clientName(c.session.Client), weight: weight, what: OneLine(s.freed(c))})
	}
	return rows
}

// freed is a release that explains the finding in words.
func (s *story) freed(c freeing) string {
	what := "releases " + quoteKey(s.key)
	if c.session.Owner == s.a.session.Owner || c.session.Client == s.a.session.Client {
		what = fmt.Sprintf("releases session %s of %s", c.session.Name, quoteKey(s.key))
	} else if answers(c.op) && c.op.Return <= s.meets && !s.untaken() {
		what += ", which " + s.a.name + " holds"
	}
	l := c.lease(c.op.Invoke)
	switch {
	case s.untaken():
		return what + s.answered(&c.op)
	case c.op.Outcome == history.Maybe:
		return what + "; no answer, so it may arrive late"
	case c.op.Return > s.meets:
		return what + "; answered at " + Stamp(s.at(c.op.Return))
	case l.kind == hold.Bounded && l.deadline < s.at(c.op.Invoke):
		return what + "; its own lease ended at " + Stamp(l.deadline)
	case c.late:
		return what + "; called at " + Stamp(s.at(c.op.Invoke))
	}
	return what
}

// otherRows are the grants to other clients: those between the later grant and a position, or those that show that a session
// did not hold. For a lock that makes no progress they are the refusals.
func (s *story) otherRows(last int) []row {
	key := quoteKey(s.key)
	switch {
	case s.finding.Rule == noProgressRule:
		return s.refusalRows()
	case s.b != nil && s.a != nil:
		if grants := s.grants(s.meets, min(last, s.ends)); len(grants) > 0 {
			what := fmt.Sprintf("%s of %s in between", Plural(len(grants), "more grant"), key)
			return []row{{at: grants[0].granted, who: "others", what: what, weight: helpful}}
		}
	case s.a != nil && (s.finding.Rule == "evicted" || s.finding.Rule == "released-without-holding"):
		if grants := s.grants(s.a.granted, s.meets); len(grants) > 0 {
			first := grants[0]
			rows := []row{{at: first.granted, who: first.name, what: "acquires " + key, weight: cause}}
			if len(grants) > 1 {
				rows = append(rows, row{at: grants[1].granted, who: "others", what: Plural(len(grants)-1, "more grant") + " of " + key, weight: helpful})
			}
			return rows
		}
	}
	return nil
}

// grants returns the grants of the key to other sessions after one position and up to another.
func (s *story) grants(after, to int) []*holder {
	var all []*holder
	for _, d := range s.holds.Granted {
		if d.Grant > after && d.Grant <= to && d.Session != s.a.session && (s.b == nil || d.Session != s.b.session) && slices.Contains(d.Session.Keys, s.key) {
			all = append(all, newHolder(s.holds, d.Session))
		}
	}
	return all
}

// refusalRows are the refusals of a lock that makes no progress: the first one, and their number at the last one. The evidence of
// the finding has the begin of the recovery period, the first call, the last answer, and the end of the period.
func (s *story) refusalRows() []row {
	if len(s.finding.Events) < 3 {
		return nil
	}
	begin, end := s.h.Position(s.finding.Events[1]), s.h.Position(s.finding.Event)
	n := 0
	var first *history.Session
	for _, o := range s.h.Sessions {
		if o.Acquire.Outcome == history.Failed && o.Acquire.Invoke >= begin && o.Acquire.Return <= end && (slices.Contains(o.Keys, s.key) || len(o.Keys) > 1) {
			if n++; first == nil {
				first = o
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []row{
		{at: begin, who: clientName(first.Client), what: "asks for " + quoteKey(first.Keys[0]) + " and is refused", weight: vital},
		{at: end, who: "others", what: fmt.Sprintf("%s refused since %s", Plural(n, "attempt"), Stamp(s.at(begin))), weight: grant},
	}
}
