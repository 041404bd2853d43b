package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// row is one line of a story.
type row struct {
	at      int    // position in the history
	who     string // "client 3", "fault", "seen"
	what    string
	note    string // next to the bracket
	bracket string // empty for none
	joins   bool   // may be joined with the next row of the same client
	weight  int    // rows with the highest weight are left out first
}

// Weights of rows.
const (
	vital   = 0 // the two grants and the evidence that both held
	cause   = 1 // the cause
	helpful = 2
	detail  = 3
)

// rows are all possible lines of the story, in order.
func (s *story) rows() []row {
	var rows []row
	rows = append(rows, s.faultRows()...)
	rows = append(rows, s.roleRows()...)
	rows = append(rows, s.holderRows()...)
	rows = append(rows, s.otherRows()...)
	slices.SortStableFunc(rows, func(x, y row) int { return x.at - y.at })
	return s.drawBracket(rows)
}

// begin is the position of the grant in question.
func (s *story) begin() int {
	if s.a == nil {
		return s.meets
	}
	return s.a.granted
}

func (s *story) faultRows() []row {
	var rows []row
	for _, f := range s.faults() {
		if !s.concerns(f) || f.Healed >= 0 && f.Healed < s.begin() {
			continue
		}
		weight := cause
		if s.a != nil && s.b != nil && f.Pauses() && !f.Strikes(s.a.session.Client) && !f.Strikes(s.b.session.Client) {
			weight = helpful
		}
		at, suffix := f.Bites, ""
		if at < 0 {
			at, suffix = f.Begins, " (not seen to take effect)"
		}
		rows = append(rows, row{at: at, who: "fault", what: OneLine(f.Name + ": " + s.struck(at) + suffix), weight: weight})
		if f.Healed >= 0 {
			w := helpful
			if f.Pauses() {
				w = cause // the overstay begins at its end
			}
			rows = append(rows, row{at: f.Healed, who: "fault", what: OneLine(f.Name + " over: " + strings.Join(f.Targets, ", ")), weight: w})
		}
	}
	return rows
}

// struck is the effect of a fault, or its targets.
func (s *story) struck(at int) string {
	e := s.h.At(at)
	if e.Text != "" {
		return e.Text
	}
	if len(e.Targets) == 0 {
		return "in effect"
	}
	return strings.Join(e.Targets, ", ")
}

// roleRows are the changes of master during the story, and those before it that a fault caused which is still in
// effect.
func (s *story) roleRows() []row {
	var rows []row
	begin := s.begin()
	for _, f := range s.faults() {
		if f.Healed < 0 || f.Healed > begin {
			begin = min(begin, f.Begins)
		}
	}
	// A promotion that no fault ordered is also a cause.
	alone := map[int]bool{}
	episode, _ := s.h.EpisodeAt(s.ends)
	for _, takeover := range s.h.Unordered() {
		alone[takeover.At] = true
		if n, _ := s.h.EpisodeAt(takeover.At); n == episode {
			begin = min(begin, takeover.At-1)
		}
	}
	master := ""
	for _, pos := range s.h.Probes {
		if pos > s.ends {
			break
		}
		seen := s.h.Events[pos].Facts.Promoted
		if seen == nil {
			continue
		}
		now := seen.Node
		if now == master {
			continue
		}
		if pos > begin && now == "" {
			rows = append(rows, row{at: pos, who: "seen", what: "no master", weight: detail})
		} else if pos > begin {
			rows = append(rows, row{at: pos, who: "seen", what: OneLine(now) + " is master now" + byItself(alone[pos]), weight: cause})
		}
		master = now
	}
	return rows
}

// byItself marks a promotion that no fault ordered.
func byItself(alone bool) string {
	if alone {
		return ", by itself"
	}
	return ""
}

// holderRows are the grants of both holders and their operations since both held.
func (s *story) holderRows() []row {
	if s.a == nil {
		return []row{{at: s.meets, who: "seen", what: OneLine(s.finding.Text), weight: vital}}
	}
	key := quoteKey(s.key)
	rows := []row{{at: s.a.granted, who: s.a.name, what: s.acquires(s.a) + " " + key + s.a.lease(s.a.granted).words(), weight: vital}}
	if s.b != nil {
		r := row{at: s.b.granted, who: s.b.name, what: s.acquires(s.b) + " " + key, weight: vital}
		if s.together {
			r.note = "both hold from"
		}
		rows = append(rows, r)
	}
	rows = append(rows, s.workRows(s.a)...)
	if s.b != nil {
		rows = append(rows, s.workRows(s.b)...)
	}
	return rows
}

func (s *story) acquires(t *tenure) string {
	switch t.session.Acquire.Outcome {
	case history.Done:
		return "acquires"
	case history.Failed:
		return "asks for (and is refused)"
	}
	return "asks for (outcome unknown)"
}

// workRows are the operations of a holder since both held, and its last check or renewal before, because it relied
// on that.
func (s *story) workRows(t *tenure) []row {
	var rows []row
	var before *history.Op
	wrote := 0
	for i := range t.session.Ops {
		op := &t.session.Ops[i]
		if op.Invoke > s.ends {
			break
		}
		if max(op.Invoke, op.Return) <= s.meets && s.b != nil && op.F != history.Release {
			if op.Outcome == history.Done && (op.F == history.Check || op.F == history.Renew) {
				before = op
			}
			continue
		}
		at := op.Invoke
		if op.F == history.Write && op.Return >= 0 {
			at = op.Return // when it was applied
		}
		switch op.F {
		case history.Write:
			// A client writes the same to the plain and the fenced form; one line is enough unless the fence refused.
			what, note, bad := s.harm.write(op)
			if wrote++; wrote > 1 && !bad {
				continue
			}
			weight := helpful
			if t == s.a && wrote == 1 || bad {
				weight = vital
			}
			rows = append(rows, row{at: at, who: t.name, what: what, note: note, joins: !bad, weight: weight})
		case history.Release:
			rows = append(rows, row{at: at, who: t.name, what: "releases" + s.answered(op), joins: true, weight: helpful})
		}
	}
	if before != nil && t == s.a {
		what := "makes sure: it holds"
		if before.F == history.Renew {
			what = "renews" + t.lease(before.Return).words()
		}
		rows = append(rows, row{at: before.Return, who: t.name, what: what, weight: helpful})
	}
	if lost := t.session.Lost; len(lost) > 0 && lost[0] > t.granted && lost[0] <= s.ends {
		rows = append(rows, row{at: lost[0], who: t.name, what: "receives a notice of loss", weight: cause})
	}
	if died := t.session.DiedAt; died > t.granted && died <= s.ends {
		rows = append(rows, row{at: died, who: t.name, what: "dies", weight: cause})
	}
	return rows
}

// answered is the answer to a release that did not succeed.
func (s *story) answered(op *history.Op) string {
	switch op.Outcome {
	case history.Done:
		return ""
	case history.Failed:
		return fmt.Sprintf(" and gets %q", cmp.Or(OneLine(s.h.At(op.Return).Error), "no"))
	}
	return " and gets no answer"
}

// otherRows are operations of other clients on the key: releases that succeeded while a held, and the number of
// grants.
func (s *story) otherRows() []row {
	if s.a == nil || s.b == nil {
		return nil
	}
	var rows []row
	grants, firstGrant := 0, -1
	key := quoteKey(s.key)
	for _, o := range s.h.Sessions {
		if o == s.a.session || o == s.b.session || !slices.Contains(o.Keys, s.key) {
			continue
		}
		if at := o.Acquire.Return; o.Acquire.Outcome == history.Done && at > s.meets && at <= s.ends {
			grants++
			if firstGrant < 0 || at < firstGrant {
				firstGrant = at
			}
		}
		for _, op := range o.Ops {
			if op.F == history.Release && op.Outcome == history.Done && o.Acquire.Invoke < s.a.granted &&
				op.Return > s.a.granted && op.Return < s.meets {
				rows = append(rows, row{at: op.Return, who: clientName(o.Client), weight: cause,
					what: fmt.Sprintf("releases %s, which %s holds%s", key, s.a.name, s.overdue(o, op.Invoke))})
			}
		}
	}
	if grants > 0 {
		what := fmt.Sprintf("%s of %s in between", Plural(grants, "more grant"), key)
		rows = append(rows, row{at: firstGrant, who: "others", what: what, weight: helpful})
	}
	return rows
}

// overdue adds that the session's own lease had ended.
func (s *story) overdue(session *history.Session, at int) string {
	if l := newTenure(s.holds, session).lease(at); l.kind == knownLease && l.deadline < s.h.At(at).Time {
		return "; its own lease ended at " + Stamp(l.deadline)
	}
	return ""
}

// drawBracket draws a's hold as a bracket at the right, with a mark at b's grant.
func (s *story) drawBracket(rows []row) []row {
	if s.a == nil {
		return rows
	}
	from, to := -1, -1
	for i := range rows {
		if rows[i].at == s.a.granted && rows[i].who == s.a.name && from < 0 {
			from = i
		}
		if rows[i].who == s.a.name || s.together && rows[i].at == s.meets {
			to = i
		}
	}
	for i := from; from >= 0 && to > from && i <= to; i++ {
		switch {
		case i == from:
			rows[i].bracket = "┐"
		case i == to && rows[i].who == s.a.name:
			rows[i].bracket = "┘"
		case rows[i].note != "" || i == to:
			rows[i].bracket = "┤"
		default:
			rows[i].bracket = "│"
		}
	}
	return rows
}
