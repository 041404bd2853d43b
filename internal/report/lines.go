package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// row is a line of a story with what decides whether it stays.
type row struct {
	at      int    // position in the history
	who     string // "client 3", "fault", "seen"
	what    string
	note    string // next to the bracket
	bracket string
	joins   bool // may be joined with the row before, of the same client
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
	rows := slices.Concat(s.faultRows(), s.roleRows(), s.holderRows(), s.otherRows())
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
		if n := len(joined) - 1; n >= 0 && r.joins && joined[n].who == r.who && joined[n].note == "" && r.note == "" &&
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

// drawBracket draws a's hold as a bracket at the right, with a mark at b's grant.
func (s *story) drawBracket(rows []row) {
	if s.a == nil {
		return
	}
	from := slices.IndexFunc(rows, func(r row) bool { return r.at == s.a.granted && r.who == s.a.name })
	to := len(rows) - 1
	for to > from && rows[to].who != s.a.name && !(s.together && rows[to].at == s.meets) {
		to--
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
}

func (s *story) faultRows() []row {
	var rows []row
	for _, f := range s.faults {
		if !s.concerns(f) || f.Healed >= 0 && f.Healed < s.begin() {
			continue
		}
		begins := row{at: f.Bites, who: "fault", weight: cause}
		if f.Pauses() && s.b != nil && !s.strikes(f) {
			begins.weight = helpful
		}
		suffix := ""
		if f.Bites < 0 {
			begins.at, suffix = f.Begins, " (not seen to take effect)"
		}
		e := s.h.At(begins.at)
		begins.what = OneLine(f.Name + ": " + cmp.Or(e.Text, strings.Join(e.Targets, ", "), "in effect") + suffix)
		rows = append(rows, begins)
		if f.Healed >= 0 {
			healed := row{at: f.Healed, who: "fault", what: OneLine(f.Name + " over: " + strings.Join(f.Targets, ", ")), weight: helpful}
			if f.Pauses() {
				healed.weight = cause // the overstay begins at its end
			}
			rows = append(rows, healed)
		}
	}
	return rows
}

// roleRows are the changes of master during the story, and those before it that a fault caused which is still in
// effect.
func (s *story) roleRows() []row {
	begin := s.begin()
	for _, f := range s.faults {
		if f.Healed < 0 || f.Healed > begin {
			begin = min(begin, f.Begins)
		}
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
		return []row{{at: s.meets, who: "seen", what: OneLine(s.finding.Text), weight: grant}}
	}
	var rows []row
	for _, t := range s.holders() {
		r := row{at: t.granted, who: t.name, what: acquires[t.session.Acquire.Outcome] + " " + quoteKey(s.key), weight: grant}
		if t == s.a {
			r.what += t.lease(t.granted).words()
		} else if s.together {
			r.note = "both hold from"
		}
		rows = append(append(rows, r), s.workRows(t)...)
	}
	return rows
}

// acquires is an acquire in words, by its outcome.
var acquires = map[history.Outcome]string{
	history.Done: "acquires", history.Failed: "asks for (and is refused)", history.Maybe: "asks for (outcome unknown)",
}

// workRows are the operations of a holder since both held, and its last check or renewal before, because it relied
// on that.
func (s *story) workRows(t *tenure) []row {
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
	case history.Done, history.Unconfirmed:
		return ""
	case history.Failed:
		return fmt.Sprintf(" and gets %q", cmp.Or(OneLine(s.h.At(op.Return).Error), "no"))
	}
	return " and gets no answer"
}

// otherRows are operations of other clients on the key: releases that succeeded while a held, and the number of
// grants.
func (s *story) otherRows() []row {
	if s.b == nil {
		return nil
	}
	var rows []row
	var grants []int
	key := quoteKey(s.key)
	for _, o := range s.h.Sessions {
		if o == s.a.session || o == s.b.session || !slices.Contains(o.Keys, s.key) {
			continue
		}
		if at := o.Acquire.Return; o.Acquire.Outcome == history.Done && at > s.meets && at <= s.ends {
			grants = append(grants, at)
		}
		for _, op := range o.Ops {
			if op.F != history.Release || op.Outcome != history.Done || o.Acquire.Invoke > s.a.granted ||
				op.Return < s.a.granted || op.Return > s.meets {
				continue
			}
			what := fmt.Sprintf("releases %s, which %s holds", key, s.a.name)
			if l := newTenure(s.holds, o).lease(op.Invoke); l.kind == hold.Bounded && l.deadline < s.at(op.Invoke) {
				what += "; its own lease ended at " + Stamp(l.deadline)
			} else if op.Invoke < s.a.granted {
				continue // it released its own hold, which let a in
			}
			rows = append(rows, row{at: op.Return, who: clientName(o.Client), weight: cause, what: what})
		}
	}
	if len(grants) > 0 {
		what := fmt.Sprintf("%s of %s in between", Plural(len(grants), "more grant"), key)
		rows = append(rows, row{at: slices.Min(grants), who: "others", what: what, weight: helpful})
	}
	return rows
}

// at is the time of a position.
func (s *story) at(pos int) time.Duration { return s.h.At(pos).Time }
