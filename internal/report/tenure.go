package report

import (
	"fmt"
	"strconv"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// tenure is the hold of one session, as its client knew it.
type tenure struct {
	h       *history.History
	session *history.Session
	hold    *hold.Hold
	name    string // "client 3"; "session 3.17" if both holders have one client
	granted int    // position of the answer that granted, or of the invocation if there is none
}

// leaseKind is what a client knows about the end of a lease.
type leaseKind uint8

const (
	unknownLease leaseKind = iota // the start of the lease is unknown
	noLease                       // it never ends by itself
	knownLease                    // it ends at the deadline
	renewedLease                  // its library renews it
)

// lease is the lease of a client as it knew it at a position.
type lease struct {
	kind     leaseKind
	deadline time.Duration // known
	length   time.Duration // of the request or the renewal; 0 if unknown
}

func newTenure(b *hold.Book, s *history.Session) *tenure {
	t := &tenure{h: b.History, session: s, hold: b.Hold(s), name: clientName(s.Client), granted: s.Acquire.Return}
	if s.Acquire.Outcome != history.Done || t.granted < 0 {
		t.granted = s.Acquire.Invoke
	}
	return t
}

func clientName(client int32) string { return "client " + strconv.Itoa(int(client)) }

// lease is the lease at a position, with the renewals up to then.
func (t *tenure) lease(at int) lease {
	first, last := t.hold.LeaseEnd(at)
	l := lease{length: t.hold.Lease.Length}
	switch {
	case t.hold.Renewed():
		l.kind = renewedLease
		return l
	case first == hold.Never:
		l.kind = noLease
	case first == last:
		l.kind, l.deadline = knownLease, first
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
	switch {
	case l.kind == renewedLease && l.length > 0:
		return fmt.Sprintf(", lease %s, renewed by its library", Length(l.length))
	case l.kind == renewedLease:
		return ", renewed by its library"
	case l.kind == knownLease && l.length > 0:
		return fmt.Sprintf(", lease %s, until %s", Length(l.length), Stamp(l.deadline))
	case l.kind == knownLease:
		return ", until " + Stamp(l.deadline)
	case l.kind == noLease:
		return ", no lease"
	case l.length > 0:
		return fmt.Sprintf(", lease %s", Length(l.length))
	}
	return ""
}

// firstOp is the first operation f that was invoked after a position.
func (t *tenure) firstOp(after int, f string) (history.Op, bool) {
	for _, op := range t.session.Ops {
		if op.F == f && op.Invoke > after {
			return op, true
		}
	}
	return history.Op{}, false
}

// lastWork is the position of the last operation of the holder up to a limit, or of the grant.
func (t *tenure) lastWork(limit int) int {
	last := t.granted
	for _, op := range t.session.Ops {
		if op.F != history.Release && op.Outcome == history.Done && op.Return <= limit {
			last = max(last, op.Invoke)
		}
	}
	return last
}

// overstayed reports whether the client worked on after its lease had ended, up to a limit.
func (t *tenure) overstayed(limit int) bool {
	work := t.lastWork(limit)
	l := t.lease(work)
	return l.kind == knownLease && t.h.At(work).Time > l.deadline
}
