package report

import (
	"fmt"
	"strings"

	"lockbench/checker"
	"lockbench/internal/history"
)

// why explains the class of the finding in one sentence.
func (s *story) why() string {
	switch s.finding.Class {
	case checker.DoubleGrant:
		return s.whyDoubleGrant()
	case checker.Overstay:
		return s.whyOverstay()
	case checker.StaleWrite:
		return s.whyStaleWrite()
	case checker.Undetermined:
		return s.whyUndetermined()
	}
	if s.waiter != "" || s.together && s.finding.Rule != lostUpdateRule { // otherwise the text is the title
		return OneLine(s.finding.Text)
	}
	return ""
}

func (s *story) whyDoubleGrant() string {
	if s.a == nil || s.b == nil {
		return ""
	}
	first := sentence(s.a.name)
	l := s.a.lease(s.meets)
	left := l.deadline - s.h.At(s.meets).Time
	sign := "no sign of loss"
	if lost := s.a.session.Lost; len(lost) > 0 && lost[0] <= s.meets {
		sign = "received the notice of loss only afterwards"
	}
	switch {
	case l.kind == knownLease && left > 0:
		return fmt.Sprintf("%s had %s of its lease left and %s: the lock was granted twice.", first, Stamp(left), sign)
	case l.kind == knownLease:
		// The lease of a was renewed after b's grant, or b's began earlier.
		return fmt.Sprintf("%s and %s both had reason to believe that they held: the lock was granted twice.", first, s.b.name)
	case l.kind == renewedLease:
		return fmt.Sprintf("%s's lease was being renewed by its library and there was %s: the lock was granted twice.", first, sign)
	case l.kind == noLease:
		return fmt.Sprintf("%s's lock has no lease that could have ended, and it had not released: the lock was granted twice.", first)
	}
	return fmt.Sprintf("%s had not released and had %s: the lock was granted twice.", first, sign)
}

func (s *story) whyOverstay() string {
	if s.a == nil || s.b == nil {
		return ""
	}
	const moral = "No lease prevents this; a fenced resource can."
	late, _ := s.late()
	work := late.lastWork(s.ends)
	l := late.lease(work)
	var ended string
	switch l.kind {
	case knownLease:
		ended = fmt.Sprintf("%s's lease ended at %s", sentence(late.name), Stamp(l.deadline))
	case renewedLease:
		ended = fmt.Sprintf("%s's lease was not renewed any more", sentence(late.name))
	default:
		ended = fmt.Sprintf("%s's lease had ended", sentence(late.name))
	}
	if f, ok := s.pauseOf(late); ok {
		if f.Healed >= 0 {
			return fmt.Sprintf("%s; it was paused until %s and worked on. %s", ended, Stamp(s.h.At(f.Healed).Time), moral)
		}
		return fmt.Sprintf("%s; it was paused, and worked on at %s. %s", ended, Stamp(s.h.At(work).Time), moral)
	}
	return fmt.Sprintf("%s and it still worked at %s. %s", ended, Stamp(s.h.At(work).Time), moral)
}

func (s *story) whyUndetermined() string {
	if s.a == nil || s.b == nil {
		return "The history does not show until when the clients could believe that they held."
	}
	who := s.a
	if s.a.lease(s.meets).kind != unknownLease && s.b.lease(s.ends).kind == unknownLease {
		who = s.b
	}
	if who.lease(s.meets).kind == unknownLease {
		return fmt.Sprintf("Both held, but until when %s could believe so is unknown: it waited for its grant, which does not show the end of the lease.", who.name)
	}
	return "Both held, but the machine's clocks had moved against each other: until when they could believe so is unknown."
}

func (s *story) whyStaleWrite() string {
	at := s.h.At(s.h.Position(s.finding.Event))
	writer, other := s.a, s.b
	if s.b != nil && at.Session == s.b.session.Name {
		writer, other = s.b, s.a
	}
	who, whose := "The write", "a later holder's"
	if writer != nil {
		who = sentence(writer.name) + "'s write"
	}
	if other != nil {
		whose = other.name + "'s"
	}
	resource := at.Resource
	if call := s.harm.invocation(at.Index, at.Session); resource == "" && call != nil {
		resource = call.Resource
	}
	if resource == history.Fenced {
		return fmt.Sprintf("%s came after %s, but its token was not below the highest seen, so the check let it through.", who, whose)
	}
	return fmt.Sprintf("%s came after %s and the resource does not check tokens.", who, whose)
}

// sentence begins a sentence with a name.
func sentence(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
