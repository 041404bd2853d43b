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
	sign := "no sign of loss"
	if lost := s.a.session.Lost; len(lost) > 0 && lost[0] <= s.meets {
		sign = "received the notice of loss only afterwards"
	}
	had := "had the lock"
	if l := s.a.lease(s.meets); l.kind == hold.Bounded && l.deadline > s.at(s.meets) {
		had = fmt.Sprintf("had %s of its lease left", Stamp(l.deadline-s.at(s.meets)))
	}
	return fmt.Sprintf("%s %s and %s: the lock was granted twice.", sentence(s.a.name), had, sign)
}

func (s *story) whyOverstay() string {
	late, _ := s.late()
	work := late.lastWork(s.ends)
	ended := "'s lease had ended"
	if l := late.lease(work); l.kind == hold.Bounded {
		ended = "'s lease ended at " + Stamp(l.deadline)
	}
	return fmt.Sprintf("%s%s and it still worked at %s. No lease prevents this; a fenced resource can.",
		sentence(late.name), ended, Stamp(s.at(work)))
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
	form := s.h.At(pos).Resource
	for _, t := range s.holders() {
		if i := slices.IndexFunc(t.session.Ops, func(op history.Op) bool { return op.Return == pos }); i >= 0 {
			form = s.form(t.session.Ops[i])
		}
	}
	if form == history.Fenced {
		return "The token of the write was not below the highest seen, so the check let it through."
	}
	return "The resource does not check tokens."
}

// sentence begins a sentence with a name.
func sentence(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
