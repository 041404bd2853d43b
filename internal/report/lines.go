package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// story is an incident with everything else that its lines show.
type story struct {
	*incident
	// causes are the releases of other sessions that explain the finding.
	causes []freeing
	// faults are those that the story shows, in order. Later positions than ends are -1.
	faults []shownFault
	harm   harm
}

func newStory(n *incident, judged checker.Report) *story {
	s := &story{incident: n, harm: measureHarm(n, lostWrites(judged))}
	s.causes = s.findCauses()
	s.faults = s.findFaults()
	return s
}

// row is a line of a story with what decides whether it stays.
type row struct {
	at      int    // position in the history
	who     string // "client 3", "fault", "seen"
	what    string
	note    string // next to the bracket
	bracket string
	joins   bool // may be joined with the row before, of the same client
	alone   bool // no row may be joined with it
	holds   bool // part of a hold of one of the holders, which the bracket covers
	weight  int
}

// Weights of rows. Those with the highest weight are left out first.
const (
	grant   = iota
	vital   // the evidence that both held
	cause   // the cause
	helpful // what else the holders and the faults did
	detail
)

// lines are the lines of the story in order, without the least important ones if there are more than most.
func (s *story) lines(most int) []Line {
	rows := s.holderRows()
	last := s.meets
	for i, r := range rows {
		last = max(last, r.at)
		rows[i].holds = r.who != "seen"
	}
	rows = slices.Concat(s.faultRows(), s.roleRows(), s.waitRows(), s.causeRows(), rows, s.otherRows(last))
	slices.SortStableFunc(rows, func(x, y row) int { return x.at - y.at })
	rows = keepRows(joinRows(rows), most)
	s.drawBracket(rows)
	var lines []Line
	for _, r := range rows {
		lines = append(lines, Line{
			AtNS: int64(s.h.At(r.at).Time), Who: r.who, What: r.what, Note: r.note, Bracket: r.bracket, Event: s.h.At(r.at).Index, Number: s.h.Line(r.at),
		})
	}
	return lines
}

// joinRows joins neighbours of the same client into one line: "writes 18, releases".
func joinRows(rows []row) []row {
	const widthMax = 62
	var joined []row
	for _, r := range rows {
		if n := len(joined) - 1; n >= 0 && r.joins && !joined[n].alone && joined[n].who == r.who && joined[n].note == "" && r.note == "" &&
			joined[n].weight != cause && joined[n].weight != grant && width(joined[n].what)+width(r.what)+2 <= widthMax {
			joined[n].what += ", " + r.what
			joined[n].weight = min(joined[n].weight, r.weight)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// keepRows removes the least important rows until there are at most rowsMax, the earlier of equals first.
func keepRows(rows []row, rowsMax int) []row {
	for len(rows) > max(rowsMax, 2) {
		least := slices.MaxFunc(rows, func(x, y row) int { return x.weight - y.weight }).weight
		i := slices.IndexFunc(rows, func(r row) bool { return r.weight == least })
		rows = slices.Delete(rows, i, i+1)
	}
	return rows
}

// drawBracket draws a bracket at the right: both holds, with a mark at b's grant, or a's hold if it ended before.
func (s *story) drawBracket(rows []row) {
	if s.a == nil {
		return
	}
	from := slices.IndexFunc(rows, func(r row) bool { return r.at == s.a.granted && r.who == s.a.name })
	to := len(rows) - 1
	for to > from && !(rows[to].holds && (s.together || rows[to].who == s.a.name)) {
		to--
	}
	for i := from; from >= 0 && to > from && i <= to; i++ {
		switch {
		case i == from:
			rows[i].bracket = "┐"
		case i == to:
			rows[i].bracket = "┘"
		case rows[i].note != "":
			rows[i].bracket = "┤"
		default:
			rows[i].bracket = "│"
		}
	}
}

// roleRows are the changes of master since the first fault that the story shows.
func (s *story) roleRows() []row {
	begin := s.begin()
	for _, f := range s.faults {
		begin = min(begin, f.Begins)
	}
	// A promotion that no fault ordered is also a cause.
	alone := map[int]string{}
	episode, _ := s.h.EpisodeAt(s.ends)
	for _, takeover := range s.h.Unordered() {
		alone[takeover.At] = ", by itself"
		if n, _ := s.h.EpisodeAt(takeover.At); n == episode {
			begin = min(begin, takeover.At-1)
		}
	}
	var rows []row
	master := ""
	for _, pos := range s.h.Probes {
		seen := s.h.Events[pos].Facts.Promoted
		if pos > s.ends || seen == nil || seen.Node == master {
			continue
		}
		master = seen.Node
		switch {
		case pos <= begin:
		case master == "":
			rows = append(rows, row{at: pos, who: "seen", what: "no master", weight: detail})
		default:
			rows = append(rows, row{at: pos, who: "seen", what: OneLine(master) + " is master now" + alone[pos], weight: cause})
		}
	}
	return rows
}

// holderRows are the grants of both holders and their operations since both held.
func (s *story) holderRows() []row {
	if s.a == nil {
		return []row{{at: s.meets, who: "seen", what: "the lock " + s.ruleTitle(), weight: grant}}
	}
	var rows []row
	for _, t := range s.holders() {
		r := row{at: t.granted, who: t.name, weight: grant}
		key := quoteKey(s.key)
		switch t.session.Acquire.Outcome {
		case history.Done:
			r.what = "acquires " + key
			if t == s.a {
				r.what += t.lease(t.granted).words()
			}
		case history.Failed:
			r.what = "asks for " + key + " and is refused"
		case history.Maybe:
			r.what = "asks for " + key + t.lease(t.granted).words() + "; outcome unknown"
		}
		if t == s.b && s.together {
			r.note = "both work from"
			if s.believes == s.meets {
				r.note = "both hold from"
			}
		}
		rows = append(append(rows, r), s.workRows(t)...)
	}
	if kept := s.h.At(s.h.Position(s.finding.Event)).Facts; kept != nil && kept.Kept != nil && kept.TTL != nil {
		rows = append(rows, row{at: s.h.Position(s.finding.Event), who: "seen", weight: vital,
			what: fmt.Sprintf("%s keeps it for %s more", OneLine(kept.Kept.Node), Length(*kept.TTL))})
	}
	return rows
}

// waitRows are the calls of acquires whose answers came much later: those of a client that was overtaken or waited in vain,
// and those during which a fault hit the client.
func (s *story) waitRows() []row {
	var rows []row
	for _, t := range append(s.holders(), s.waits) {
		if t == nil || t.session.Acquire.Outcome != history.Done && t != s.waits && s.finding.Rule != lostWakeUpRule {
			continue
		}
		asked := t.session.Acquire.Invoke
		r := row{at: asked, who: t.name, what: "asks for " + quoteKey(s.key), weight: helpful}
		switch {
		case t == s.waits || s.finding.Rule == lostWakeUpRule:
			r.weight = vital
		case !slices.ContainsFunc(s.h.Faults, func(f history.Fault) bool {
			return f.Strikes(t.session.Client) && f.HoldsUp(t.session.Client) && f.Begins < t.granted && (f.Healed < 0 || f.Healed > asked)
		}):
			continue
		}
		rows = append(rows, r)
	}
	if s.waits != nil {
		for _, pos := range s.h.Probes {
			seen := s.h.Events[pos].Facts.Queued
			if seen != nil && pos < s.meets && slices.Contains(seen.Sessions, s.waits.session.Name) {
				rows = append(rows, row{at: pos, who: "seen", what: s.waits.name + " is in the queue", weight: cause})
				break
			}
		}
	}
	return rows
}

// workRows are the operations of a holder since both held, its last check or renewal before, because it relied on that, and
// the renewals without which they would not both have held.
func (s *story) workRows(t *holder) []row {
	var rows []row
	var before *history.Op
	wrote := false
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
		switch op.F {
		case history.Write:
			// A client writes the same to the plain and the fenced form; one line is enough unless the fence refused.
			what, note, bad := s.harm.write(op)
			if wrote && !bad {
				continue
			}
			r := row{at: op.Invoke, who: t.name, what: what, note: note, joins: !bad, weight: helpful}
			if op.Return >= 0 {
				r.at = op.Return // when it was applied
			}
			if t == s.a && !wrote || bad {
				r.weight = vital
			}
			wrote = true
			rows = append(rows, r)
		case history.Release:
			rows = append(rows, row{at: op.Invoke, who: t.name, what: "releases" + s.answered(op), joins: true, weight: helpful})
		case history.Renew:
			if op.Outcome != history.Done || op.Return == s.believes || op.Invoke == s.worked || op == s.answeredAt(t) || s.b == nil {
				rows = append(rows, s.renewal(t, op))
			}
		case history.Check:
			if op.Invoke == s.worked && op.Outcome == history.Done {
				rows = append(rows, row{at: op.Invoke, who: t.name, what: "makes sure: it holds", weight: helpful})
			}
		}
	}
	if needed := t.needed(s.meets); needed != nil && s.b != nil {
		r := s.renewal(t, needed)
		r.weight = cause
		rows = append(rows, r)
		if before == needed {
			before = nil
		}
	}
	if before != nil && t == s.a {
		r := row{at: before.Return, who: t.name, what: "makes sure: it holds", weight: helpful}
		if before.F == history.Renew {
			r = s.renewal(t, before)
		}
		rows = append(rows, r)
	}
	if lost := t.session.Lost; len(lost) > 0 && lost[0] > t.granted && lost[0] <= s.ends {
		rows = append(rows, row{at: lost[0], who: t.name, what: "receives a notice of loss", weight: cause})
	}
	if died := t.session.DiedAt; died > t.granted && died <= s.ends {
		rows = append(rows, row{at: died, who: t.name, what: "dies", weight: cause})
	}
	return rows
}

// renewal is the row of a renewal. The one since which both believe that they hold says so.
func (s *story) renewal(t *holder, op *history.Op) row {
	r := row{at: op.Invoke, who: t.name, what: "renews" + s.answered(op), alone: op.Outcome == history.Done, weight: helpful}
	if op.Outcome == history.Done {
		r.at, r.what = op.Return, "renews"+t.lease(op.Return).words()
	}
	if op.Return == s.believes && s.together {
		r.note, r.weight = "both hold from", vital
	}
	return r
}

// answered is the answer to a release that did not succeed.
func (s *story) answered(op *history.Op) string {
	switch op.Outcome {
	case history.Done, history.Unconfirmed:
		return ""
	case history.Failed:
		return fmt.Sprintf(" and gets %q", cmp.Or(OneLine(s.h.At(op.Return).Error), "no"))
	}
	return " and gets no answer"
}

// at is the time of a position.
func (n *incident) at(pos int) time.Duration { return n.h.At(pos).Time }
