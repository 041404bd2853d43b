package sweep

import (
	"cmp"
	"slices"
)

// session is one attempt and its outcome. A position that does not exist is Never.
type session struct {
	call, ret uint32 // of the acquire; ret is Never unless it was ok or refused strictly
	// end is the earliest position at which the hold may have ended: the call of the release with ok,
	// or else of the first release with unknown outcome.
	end uint32
	// last is the position by which the hold must have ended: the return of a release with the answer ok
	// or "not held".
	last uint32
	// notHeld is the earliest return of a release that was answered "not held", and notHeldCall the earliest
	// call of one.
	notHeld, notHeldCall uint32
	owner                uint32
	state                answer
	shared               bool
	released             bool // with ok
}

// answer is the known outcome of an acquire.
type answer uint8

const (
	lost    answer = iota // refused without proof, or the sweep has already placed it
	refused               // refused, which proves that the lock was held during the call
	granted
	unknown
)

// read builds the sessions of a lock from its operations.
func read(m Model, o *Ops) *lock {
	l := &lock{reentrant: m.Reentrant}
	for _, op := range o.All {
		if op.Kind == Release {
			l.release(op)
		} else {
			l.acquire(op)
		}
	}
	for i := range l.sessions {
		s := &l.sessions[i]
		if s.owner = uint32(i); len(o.Owners) > 0 {
			s.owner = o.Owners[i]
		}
		if s.state == granted && s.notHeld != Never {
			l.deny(s, uint32(i))
		}
	}
	slices.SortFunc(l.cores, func(a, b uint32) int { return cmp.Compare(l.sessions[a].ret, l.sessions[b].ret) })
	return l
}

// acquire begins a session.
func (l *lock) acquire(op Op) {
	id := uint32(len(l.sessions))
	s := session{call: op.Call, ret: Never, end: Never, last: Never, notHeld: Never, notHeldCall: Never, shared: op.Kind == AcquireShared}
	switch op.Out {
	case OK:
		s.state, s.ret = granted, op.Ret
		l.cores = append(l.cores, id)
	case StrictFail:
		s.state, s.ret = refused, op.Ret
		l.refused = append(l.refused, id)
	case Unknown:
		s.state = unknown
	}
	l.sessions = append(l.sessions, s)
}

// release adds the answer of a release to its session.
func (l *lock) release(op Op) {
	id := op.Session
	s := &l.sessions[id]
	switch op.Out {
	case OK:
		switch {
		case s.released:
			l.found(ReleasedTwice, id, None)
			return
		case s.state <= refused:
			l.found(ReleasedWithoutHolding, id, None)
			return
		}
		// This release ended the hold, so an earlier release of unknown outcome did not.
		s.released, s.end, s.last = true, op.Call, op.Ret
		if s.state == unknown {
			l.unsure = append(l.unsure, id)
		}
	case Unknown:
		if !s.released {
			s.end = min(s.end, op.Call)
		}
	default:
		s.notHeld = min(s.notHeld, op.Ret)
		s.notHeldCall = min(s.notHeldCall, op.Call)
		if s.state == unknown {
			l.denials = append(l.denials, denial{op.Call, op.Ret, id})
		}
	}
}

// deny judges the answer "not held" to a session that was granted. The session must have been
// released by then, and only a release with unknown outcome can have done that:
//
//	acquire ok   release ...(no answer)   release: not held      right, the first release ended it
//	acquire ok   release: not held                               evicted
//
// An evicted session holds at most until that call, because its client does not count on the lock
// after it. The wrong answer is reported once.
func (l *lock) deny(s *session, id uint32) {
	if s.end < s.notHeld {
		s.last = min(s.last, s.notHeld)
		return
	}
	l.found(Evicted, id, None)
	s.end, s.last = min(s.end, s.notHeldCall), min(s.last, s.notHeld)
}
