package report

import (
	"strconv"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// holder is the hold of one session, as its client knew it.
type holder struct {
	h       *history.History
	session *history.Session
	hold    *hold.Hold
	name    string // "client 3"; "session 3.17" if both holders have one client
	granted int    // position of the answer that granted, or of the invocation if there is none
}

// lease is the lease of a client as it knew it at a position.
type lease struct {
	kind     hold.LeaseKind // Waited if its end is unknown
	deadline time.Duration  // of a lease whose end is known, or that its client counts from the answer
	length   time.Duration  // of the request or the renewal; 0 if unknown
}

func newHolder(b *hold.Book, s *history.Session) *holder {
	t := &holder{h: b.History, session: s, hold: b.Hold(s), name: clientName(s.Client), granted: s.Acquire.Return}
	if s.Acquire.Outcome != history.Done || t.granted < 0 {
		t.granted = s.Acquire.Invoke
	}
	return t
}

func clientName(client int32) string { return "client " + strconv.Itoa(int(client)) }

// lease is the lease at a position, with the renewals up to then.
func (t *holder) lease(at int) lease {
	l := lease{kind: hold.Waited, length: t.hold.Lease.Length}
	switch first, last := t.hold.LeaseEnd(at); {
	case t.hold.Renewed():
		l.kind = hold.Renewed
		return l
	case first == hold.Never:
		l.kind = hold.NoLease
	case first == last:
		l.kind, l.deadline = hold.Bounded, first
	case t.hold.Lease.Kind != hold.Waited && t.hold.Granted():
		l.kind, l.deadline = hold.Answered, t.hold.CountedEnd(at)
	}
	for _, op := range t.session.Ops {
		if op.F == history.Renew && op.Outcome == history.Done && op.Return <= at {
			l.length = t.h.At(op.Invoke).TTL
		}
	}
	return l
}

// words describe a lease after its acquire.
func (l lease) words() string {
	text := ""
	if l.length > 0 && l.kind != hold.NoLease {
		text = ", lease " + Length(l.length)
	}
	switch l.kind {
	case hold.Renewed:
		text += ", renewed by its library"
	case hold.Bounded:
		text += ", until " + Stamp(l.deadline)
	case hold.Answered:
		text += ", counted from the answer"
	case hold.NoLease:
		text += ", no lease"
	}
	return text
}

// firstOp is the first operation f that was invoked after a position.
func (t *holder) firstOp(after int, f string) (history.Op, bool) {
	for _, op := range t.session.Ops {
		if op.F == f && op.Invoke > after {
			return op, true
		}
	}
	return history.Op{}, false
}

// believed reports whether the client could believe at a position that it held.
func (t *holder) believed(at int) bool { return hold.Within(t.hold.Most.Beliefs, at) }

// needed returns the last renewal before a position if the lease of the grant had ended by then, or nil.
func (t *holder) needed(before int) *history.Op {
	if end := t.hold.CountedEnd(t.granted); t.hold.Renewed() || end > t.h.At(before).Time {
		return nil
	}
	var last *history.Op
	for i := range t.session.Ops {
		if op := &t.session.Ops[i]; op.F == history.Renew && op.Outcome == history.Done && op.Return <= before {
			last = op
		}
	}
	return last
}

// LeaseEnd is the end of a session's lease as far as its client knew. known is false if the lock has no lease, the
// library renews it, or its end is unknown.
func LeaseEnd(holds *hold.Book, s *history.Session) (end time.Duration, known bool) {
	l := newHolder(holds, s).lease(len(holds.History.Events))
	return l.deadline, l.kind == hold.Bounded || l.kind == hold.Answered
}

// HoldEnd is the position at which a session stopped holding: its release, its client's death, or the end of the
// history. In the strict reading a release that failed ends nothing. why is the reason in words.
func HoldEnd(holds *hold.Book, s *history.Session) (end int, why string) {
	h := holds.History
	end, why = len(h.Events)-1, "to the end"
	for _, op := range s.Ops {
		if op.F == history.Release && !(holds.Strict && op.Outcome == history.Failed) {
			end, why = op.Invoke, "released"
			break
		}
	}
	if s.DiedAt >= 0 && s.DiedAt < end && s.DiedAt >= s.Acquire.Return {
		end, why = s.DiedAt, "its client died"
	}
	return end, why
}
