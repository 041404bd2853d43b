package checker

import (
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// naive is exclusion by the letter of its definitions: every pair of sessions, every
// position, each asked for itself. It shares no code with what it is compared to.
type naive struct {
	h       *history.History
	strict  bool
	stepped int
}

// overlapping is what it finds for a later session.
type overlapping struct {
	event int
	class Class
}

func (n naive) judge() (Verdict, []overlapping) {
	verdict := Valid
	var found []overlapping
	for _, b := range n.h.Sessions {
		sure, open, class := false, false, NoClass
		for _, a := range n.h.Sessions {
			if !n.conflict(a, b) {
				continue
			}
			switch surely, possibly, c := n.pair(a, b); {
			case surely:
				sure, class = true, max(class, c)
			case possibly:
				open = true
			}
		}
		if sure {
			found = append(found, overlapping{b.Acquire.Return, class})
			verdict = Violated
		} else if open {
			verdict = max(verdict, Unknown)
		}
	}
	slices.SortFunc(found, func(a, b overlapping) int { return a.event - b.event })
	return verdict, found
}

func (n naive) conflict(a, b *history.Session) bool {
	return a.Acquire.Outcome == history.Done && b.Acquire.Outcome == history.Done &&
		a.Acquire.Return < b.Acquire.Return && a.Owner != b.Owner &&
		(a.Mode == locks.Exclusive || b.Mode == locks.Exclusive) &&
		slices.ContainsFunc(a.Keys, func(k string) bool { return slices.Contains(b.Keys, k) })
}

func (n naive) pair(a, b *history.Session) (surely, possibly bool, class Class) {
	believed, perhaps := -1, -1
	for p := range n.h.Events {
		surely = surely || n.works(a, p, false) && n.works(b, p, false)
		possibly = possibly || n.works(a, p, true) && n.works(b, p, true)
		if believed < 0 && n.believes(a, p, false) && n.believes(b, p, false) {
			believed = p
		}
		if perhaps < 0 && n.believes(a, p, true) && n.believes(b, p, true) {
			perhaps = p
		}
	}
	class, at := Overstay, b.Acquire.Return
	if believed >= 0 {
		class, at = DoubleGrant, believed
	} else if perhaps >= 0 {
		class, at = Undetermined, perhaps
	}
	if at >= n.stepped {
		class = Undetermined
	}
	return surely, possibly, class
}

// works: the claim, but when the lease has run out for good only up to the last sign.
func (n naive) works(s *history.Session, p int, most bool) bool {
	if !n.claims(s, p) {
		return false
	}
	for q := p; q < len(n.h.Events); q++ {
		if n.claims(s, q) && (n.signAt(s, q) || n.believes(s, q, most)) {
			return true
		}
	}
	// What is left of a lease that was shortened, after its last renewal was asked for.
	return !n.isRenewed(s) && n.h.At(p).Time <= n.inForce(s, len(n.h.Events)-1, most)
}

func (n naive) believes(s *history.Session, p int, most bool) bool {
	if !n.claims(s, p) {
		return false
	}
	if n.isRenewed(s) {
		return !n.stoodStill(s, p)
	}
	return n.h.At(p).Time <= n.inForce(s, p, most)
}

func (n naive) isRenewed(s *history.Session) bool {
	x := n.h.At(s.Acquire.Return).Extra
	return x != nil && x.Renewed
}

func (n naive) stoodStill(s *history.Session, p int) bool {
	lease := n.h.At(s.Acquire.Return).Extra.Lease
	name := "client-" + string(rune('0'+s.Client))
	for i := 0; i <= p; i++ {
		begins := n.h.At(i)
		if begins.F != "pause" || begins.Extra.Phase != history.Begins || begins.Extra.Targets[0] != name {
			continue
		}
		woke, told := n.h.At(len(n.h.Events)-1).Time, never
		for j := i; j < len(n.h.Events); j++ {
			if e := n.h.At(j); e.F == "pause" && e.Extra.Phase == history.Healed && e.Extra.Step == begins.Extra.Step {
				woke, told = e.Time, e.Time+lease/3
				break
			}
		}
		next := min(p+1, len(n.h.Events)-1) // a stretch lasts until what comes next
		if woke-begins.Time > lease-lease/3 && n.h.At(next).Time <= told {
			return true
		}
	}
	return false
}

// inForce is the deadline as of a position, followed from the grant, event by event.
func (n naive) inForce(s *history.Session, p int, most bool) time.Duration {
	asked, granted := n.h.At(s.Acquire.Invoke), n.h.At(s.Acquire.Return)
	var deadline time.Duration
	switch {
	case granted.HasUntil:
		deadline = asked.Time + granted.Until
	case asked.TTL == 0:
		deadline = never
	case asked.Wait > 0 && most:
		deadline = granted.Time + asked.TTL
	default:
		deadline = asked.Time + asked.TTL
	}
	for i := s.Acquire.Return; i <= p; i++ {
		for _, op := range s.Ops {
			if op.F != history.Renew || op.Outcome == history.Failed || !n.claims(s, i) {
				continue
			}
			moved := n.h.At(op.Invoke).Time + n.h.At(op.Invoke).TTL
			if op.Outcome == history.Done && n.h.At(op.Return).HasUntil {
				moved = n.h.At(op.Invoke).Time + n.h.At(op.Return).Until
			}
			if op.Invoke == i {
				deadline = min(deadline, moved)
			}
			if op.Return == i && op.Outcome == history.Done {
				deadline = moved
			}
		}
	}
	return deadline
}

// claims: from the grant up to the first end.
func (n naive) claims(s *history.Session, p int) bool {
	if p < s.Acquire.Return {
		return false
	}
	if p == s.Acquire.Return {
		return true
	}
	// Its own call ended it.
	answered := len(n.h.Events)
	for _, op := range s.Ops {
		release := op.F == history.Release && !(n.strict && op.Outcome == history.Failed)
		refused := op.F == history.Renew && op.Outcome == history.Failed && n.h.At(op.Return).Error == history.ErrorNotHeld
		if !release && !refused {
			continue
		}
		if op.Invoke <= p {
			return false
		}
		if op.Outcome != history.Maybe {
			answered = min(answered, op.Return)
		}
	}
	// Or it was noticed later that it is over, and there is no sign from here to there.
	for i := range n.h.Events {
		if i > answered || !n.notice(s, i) {
			continue
		}
		sign := false
		for j := p; j < i; j++ {
			sign = sign || n.signAt(s, j)
		}
		if !sign {
			return false
		}
	}
	return true
}

func (n naive) notice(s *history.Session, i int) bool {
	e := n.h.At(i)
	switch {
	case i <= s.Acquire.Invoke:
		return false
	case e.F == history.Died:
		return e.Client == s.Client
	case e.Session != s.Name:
		return false
	case e.F == history.Lost:
		return true
	}
	for _, op := range s.Ops {
		if op.Invoke == i && op.F == history.Check && op.Outcome == history.Failed {
			return true
		}
	}
	return false
}

func (n naive) signAt(s *history.Session, i int) bool {
	for _, op := range s.Ops {
		if op.Invoke != i {
			continue
		}
		switch op.F {
		case history.Check, history.Renew:
			return op.Outcome == history.Done
		case history.Write:
			return op.Outcome == history.Done || op.Outcome == history.Failed && n.h.At(op.Return).Error == history.ErrorStaleToken
		}
	}
	return false
}
