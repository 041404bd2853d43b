package checker

import (
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// naive is a direct implementation of the definitions of exclusion. It checks every pair of sessions at every position, and
// shares no code with the checker.
type naive struct {
	h       *history.History
	strict  bool
	stepped int
}

// overlapping is a finding about the later session of an overlap.
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
		if at, ok := n.bothBelieve(a, b, p, false); ok && believed < 0 {
			believed = at
		}
		if at, ok := n.bothBelieve(a, b, p, true); ok && perhaps < 0 {
			perhaps = at
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

// works reports whether a session works at a position: within its hold, and after the end of the lease only up to the
// last sign.
func (n naive) works(s *history.Session, p int, most bool) bool {
	if !n.claims(s, p) {
		return false
	}
	for q := p; q < len(n.h.Events); q++ {
		if n.claims(s, q) && (n.signAt(s, q) || n.believes(s, q, most)) {
			return true
		}
	}
	// The rest of a lease that a renewal shortened.
	return !n.isRenewed(s) && n.h.At(p).Time <= n.inForce(s, len(n.h.Events)-1, most)
}

// bothBelieve reports whether both sessions believe in their leases at some time between an event and the next one.
func (n naive) bothBelieve(a, b *history.Session, p int, most bool) (at int, ok bool) {
	if !n.believes(a, p, most) || !n.believes(b, p, most) {
		return 0, false
	}
	since := max(n.since(a, p), n.since(b, p))
	if since == 0 {
		return p, true
	}
	return p + 1, since < min(n.until(a, p, most), n.until(b, p, most))
}

func (n naive) believes(s *history.Session, p int, most bool) bool {
	if !n.claims(s, p) {
		return false
	}
	if n.isRenewed(s) {
		still, _ := n.stoodStill(s, p)
		return !still
	}
	return n.h.At(p).Time <= n.inForce(s, p, most)
}

// since returns the time between an event and the next one at which the belief returns, or 0 if the session believes at
// the event.
func (n naive) since(s *history.Session, p int) time.Duration {
	if !n.isRenewed(s) {
		return 0
	}
	_, since := n.stoodStill(s, p)
	return since
}

func (n naive) until(s *history.Session, p int, most bool) time.Duration {
	if p+1 < len(n.h.Events) && !n.claims(s, p+1) && !slices.ContainsFunc(s.Ops, func(op history.Op) bool { return op.Invoke == p+1 }) {
		return n.h.At(p).Time // belief is certain only up to the last sign
	}
	if n.isRenewed(s) {
		return hold.Never
	}
	return n.inForce(s, p, most)
}

func (n naive) isRenewed(s *history.Session) bool {
	return n.h.At(s.Acquire.Return).Renewed
}

// stoodStill reports whether the client does not believe in its lease because of a pause that was longer than the lease.
// The belief returns when the pause is over and the next renewal should have been answered, and never if no sign
// follows. Pauses that are closer together than two renewals count as one.
func (n naive) stoodStill(s *history.Session, p int) (still bool, since time.Duration) {
	lease := n.h.At(s.Acquire.Return).Lease
	end := n.h.At(len(n.h.Events) - 1).Time
	var all []history.Pause
	for _, next := range n.h.Pauses(s.Client) {
		if len(all) > 0 {
			last := &all[len(all)-1]
			if last.Healed < 0 || n.h.At(last.Healed).Time+lease/3 > n.h.At(next.Begins).Time {
				if last.Healed >= 0 && (next.Healed < 0 || next.Healed > last.Healed) {
					last.Healed = next.Healed
				}
				continue
			}
		}
		all = append(all, next)
	}
	for _, pause := range all {
		woke, told := end, hold.Never
		if pause.Healed >= 0 {
			woke = n.h.At(pause.Healed).Time
			told = woke + lease/3
		}
		granted := n.h.At(s.Acquire.Return).Time
		if pause.Begins > p || woke-n.h.At(pause.Begins).Time <= lease-lease/3 || told <= granted && pause.Healed < s.Acquire.Return {
			continue
		}
		next := hold.Never // the position lasts until the next event
		if p+1 < len(n.h.Events) {
			next = n.h.At(p + 1).Time
		}
		came := false
		for q := range n.h.Events {
			came = came || n.claims(s, q) && n.signAt(s, q) && n.h.At(q).Time > told
		}
		switch {
		case !came || next <= told:
			return true, 0
		case n.h.At(p).Time <= told:
			since = max(since, told)
		}
	}
	return false, since
}

// inForce returns the deadline that is known at a position. It follows the events from the grant on.
func (n naive) inForce(s *history.Session, p int, most bool) time.Duration {
	asked, granted := n.h.At(s.Acquire.Invoke), n.h.At(s.Acquire.Return)
	var deadline time.Duration
	switch {
	case granted.Until != nil:
		deadline = asked.Time + *granted.Until
	case asked.TTL == 0:
		deadline = hold.Never
	case asked.Wait > 0 && most:
		deadline = granted.Time + asked.TTL
	default:
		deadline = asked.Time + asked.TTL
	}
	// A renewal that was called by then counts unless a later renewal has certainly replaced it. For a renewal without an
	// answer, only the requested length is certain.
	ok := func(op history.Op) bool {
		return op.F == history.Renew && op.Outcome == history.Done && op.Return <= p && n.claims(s, op.Return)
	}
	byGrant := deadline
	deadline = hold.Never
	superseded := func(pos int) bool {
		return pos >= 0 && slices.ContainsFunc(s.Ops, func(r history.Op) bool { return ok(r) && r.Invoke > pos })
	}
	if !superseded(s.Acquire.Return) {
		deadline = byGrant
	}
	for _, op := range s.Ops {
		if op.F != history.Renew || op.Outcome == history.Failed || op.Invoke > p || !n.claims(s, op.Invoke) {
			continue
		}
		asked, ttl := n.h.At(op.Invoke).Time, n.h.At(op.Invoke).TTL
		if ttl == 0 {
			ttl = hold.Never
		}
		switch {
		case op.Outcome == history.Done && n.h.At(op.Return).Until != nil:
			ttl = *n.h.At(op.Return).Until
			fallthrough
		case op.Outcome == history.Done:
			if op.Return > p || !superseded(op.Return) {
				deadline = min(deadline, hold.Later(asked, ttl))
			}
		default:
			for _, r := range s.Ops {
				if ok(r) {
					asked = max(asked, n.h.At(r.Invoke).Time)
				}
			}
			deadline = min(deadline, hold.Later(asked, ttl))
		}
	}
	return deadline
}

// claims reports whether a position lies between the grant and the first end of the session.
func (n naive) claims(s *history.Session, p int) bool {
	if p < s.Acquire.Return {
		return false
	}
	if p == s.Acquire.Return {
		return true
	}
	// The release of the session ends it.
	answered, released := len(n.h.Events), len(n.h.Events)
	for _, op := range s.Ops {
		if op.F != history.Release || n.strict && op.Outcome == history.Failed {
			continue
		}
		if op.Invoke <= p {
			return false
		}
		released = min(released, op.Invoke)
		if op.Outcome != history.Maybe {
			answered = min(answered, op.Return)
		}
	}
	sign := func(until int) bool {
		for j := p; j < until; j++ {
			if n.signAt(s, j) {
				return true
			}
		}
		return false
	}
	// A renewal that is answered "not held" ends it, if no sign comes between.
	for _, op := range s.Ops {
		if op.F != history.Renew || op.Outcome != history.Failed || n.h.At(op.Return).Error != history.ErrorNotHeld ||
			op.Return > answered || n.confirmed(s, op.Return) {
			continue
		}
		if p >= op.Invoke && released > op.Return && !sign(op.Return) {
			return false
		}
		answered = min(answered, op.Return)
	}
	// A later notice of a loss ends it, if no sign comes between.
	for i := range n.h.Events {
		if i <= answered && n.notice(s, i) && !sign(i) {
			return false
		}
	}
	return true
}

// confirmed reports whether a check or a renewal after a position was answered with ok.
func (n naive) confirmed(s *history.Session, after int) bool {
	for _, op := range s.Ops {
		if op.F == history.Release {
			break
		}
		if (op.F == history.Check || op.F == history.Renew) && op.Outcome == history.Done && op.Invoke > after {
			return true
		}
	}
	return false
}

func (n naive) notice(s *history.Session, i int) bool {
	e := n.h.At(i)
	switch {
	case i <= s.Acquire.Invoke:
		return false
	case e.F == history.Died:
		return e.Client == s.Client
	case e.Session != s.Name || n.confirmed(s, i):
		return false
	case e.F == history.Lost:
		return true
	}
	for _, op := range s.Ops {
		if op.Return == i && op.F == history.Check && op.Outcome == history.Failed {
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
