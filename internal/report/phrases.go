package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// lostUpdateRule is the rule of a write that undid others. Its sessions need not have overlapped, so the title is the
// text of the finding.
const lostUpdateRule = "lost-update"

// overtakenRule is the rule of a grant to a client before one that had waited for longer. The story is about the
// grant, because the waiter may never have held.
const overtakenRule = "overtaken"

func (s *story) lock() string { return cmp.Or(OneLine(s.h.Header.Lock), "the lock") }

// title is the violation in one line.
func (s *story) title() string {
	lock, key := s.lock(), quoteKey(s.key)
	a, b := s.a, s.b
	granted := fmt.Sprintf("%s granted %s", lock, key)
	switch {
	case s.waiter != "" && a != nil:
		return fmt.Sprintf("%s to %s before %s, which had waited for longer", granted, a.name, s.waiter)
	case !s.together || s.finding.Class == checker.StaleWrite || s.finding.Rule == lostUpdateRule:
		return lock + ": " + OneLine(s.finding.Text)
	case s.finding.Class == checker.Overstay:
		late, other := s.late()
		return fmt.Sprintf("%s: %s worked on %s after its lease, while %s held it", lock, late.name, key, other.name)
	case s.finding.Rule == "too-many-permits":
		return fmt.Sprintf("%s to %s beyond its permits", granted, b.name)
	case a.session.Mode != b.session.Mode:
		return fmt.Sprintf("%s %s to %s while %s held it %s", granted, b.session.Mode, b.name, a.name, a.session.Mode)
	}
	return fmt.Sprintf("%s to %s while %s held it", granted, b.name, a.name)
}

// label is class and episode: "double-grant, episode 1".
func (s *story) label() string {
	var parts []string
	if name := cmp.Or(s.finding.Class.String(), clip(OneLine(s.finding.Rule), 30)); name != "" {
		parts = append(parts, name)
	}
	if episode, ok := s.h.EpisodeAt(s.h.Position(s.finding.Event)); ok {
		parts = append(parts, fmt.Sprintf("episode %d", episode))
	}
	return strings.Join(parts, ", ")
}

// why explains the class of the finding in one sentence.
func (s *story) why() string {
	pair := s.b != nil
	switch class := s.finding.Class; {
	case class == checker.DoubleGrant && pair:
		return s.whyDoubleGrant()
	case class == checker.Overstay && pair:
		return s.whyOverstay()
	case class == checker.StaleWrite:
		return s.whyStaleWrite()
	case class == checker.Undetermined && pair:
		return s.whyUndetermined()
	case class == checker.Undetermined:
		return "The history does not show until when the clients could believe that they held."
	case class == checker.NoClass && (s.waiter != "" || s.together && s.finding.Rule != lostUpdateRule): // otherwise the text is the title
		return OneLine(s.finding.Text)
	}
	return ""
}

func (s *story) whyDoubleGrant() string {
	l := s.a.lease(s.meets)
	left := l.deadline - s.at(s.meets)
	sign := "no sign of loss"
	if lost := s.a.session.Lost; len(lost) > 0 && lost[0] <= s.meets {
		sign = "received the notice of loss only afterwards"
	}
	var reason string
	switch {
	case l.kind == hold.Bounded && left > 0:
		reason = fmt.Sprintf(" had %s of its lease left and %s", Stamp(left), sign)
	case l.kind == hold.Bounded:
		// The lease of a was renewed after b's grant, or b's began earlier.
		reason = fmt.Sprintf(" and %s both had reason to believe that they held", s.b.name)
	case l.kind == hold.Renewed:
		reason = "'s lease was being renewed by its library and there was " + sign
	case l.kind == hold.NoLease:
		reason = "'s lock has no lease that could have ended, and it had not released"
	default:
		reason = " had not released and had " + sign
	}
	return sentence(s.a.name) + reason + ": the lock was granted twice."
}

func (s *story) whyOverstay() string {
	late, _ := s.late()
	work := late.lastWork(s.ends)
	ended := "'s lease had ended"
	switch l := late.lease(work); l.kind {
	case hold.Bounded:
		ended = "'s lease ended at " + Stamp(l.deadline)
	case hold.Renewed:
		ended = "'s lease was not renewed any more"
	}
	worked := " and it still worked at " + Stamp(s.at(work))
	if f, paused := s.pauseOf(late); paused && f.Healed >= 0 {
		worked = "; it was paused until " + Stamp(s.at(f.Healed)) + " and worked on"
	} else if paused {
		worked = "; it was paused, and worked on at " + Stamp(s.at(work))
	}
	return sentence(late.name) + ended + worked + ". No lease prevents this; a fenced resource can."
}

func (s *story) whyUndetermined() string {
	who := s.a
	if s.a.lease(s.meets).kind != hold.Waited && s.b.lease(s.ends).kind == hold.Waited {
		who = s.b
	}
	if who.lease(s.meets).kind == hold.Waited {
		return fmt.Sprintf("Both held, but until when %s could believe so is unknown: it waited for its grant, which does not show the end of the lease.", who.name)
	}
	return "Both held, but the machine's clocks had moved against each other: until when they could believe so is unknown."
}

func (s *story) whyStaleWrite() string {
	pos := s.h.Position(s.finding.Event)
	who, whose, form := "The write", "a later holder's", s.h.At(pos).Resource
	for _, t := range s.holders() {
		if t.session.Name != s.h.At(pos).Session {
			whose = t.name + "'s"
			continue
		}
		who = sentence(t.name) + "'s write"
		if i := slices.IndexFunc(t.session.Ops, func(op history.Op) bool { return op.Return == pos }); i >= 0 {
			form = s.form(t.session.Ops[i])
		}
	}
	if form == history.Fenced {
		return fmt.Sprintf("%s came after %s, but its token was not below the highest seen, so the check let it through.", who, whose)
	}
	return fmt.Sprintf("%s came after %s and the resource does not check tokens.", who, whose)
}

// sentence begins a sentence with a name.
func sentence(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
