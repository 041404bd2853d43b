package report

import (
	"fmt"
	"strconv"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// tenure is one session as a story tells it: who, from when, and until when its
// client could believe that it held.
type tenure struct {
	h       *history.History
	session *history.Session
	hold    *hold.Hold
	name    string // "client 3"; "session 3.17" where one client is both sides of a story
	granted int    // position of the answer that granted, or of the invocation if there is none
}

// leaseKind says what is known of the end of a lease.
type leaseKind uint8

const (
	unknownLease leaseKind = iota // it has one, but from when it runs was not told
	noLease                       // it never ends by itself
	knownLease                    // deadline says when
	renewedLease                  // its library keeps it alive
)

// lease is how long a client could believe that it held, by what it knew at a position.
type lease struct {
	kind     leaseKind
	deadline time.Duration // known
	length   time.Duration // asked for, or renewed at a time; 0 if nobody said
}

func newTenure(b *hold.Book, s *history.Session) *tenure {
	t := &tenure{h: b.History, session: s, hold: b.Hold(s), name: clientName(s.Client), granted: s.Acquire.Return}
	if s.Acquire.Outcome != history.Done || t.granted < 0 {
		t.granted = s.Acquire.Invoke
	}
	return t
}

func clientName(client int32) string { return "client " + strconv.Itoa(int(client)) }

// lease tells the end of the lease as of a position: of the grant, or of what was renewed
// by then.
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

// words tell a lease beside the acquire that brought it.
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

// lastWork is the last position up to a limit at which the client shows that it
// took itself for the holder; the grant itself if nothing came after.
func (t *tenure) lastWork(limit int) int {
	last := t.granted
	for _, op := range t.session.Ops {
		if op.F != history.Release && op.Outcome == history.Done && op.Return <= limit {
			last = max(last, op.Invoke)
		}
	}
	return last
}

// overstayed says whether the client worked on after its own lease had run out,
// as seen up to a limit.
func (t *tenure) overstayed(limit int) bool {
	work := t.lastWork(limit)
	l := t.lease(work)
	return l.kind == knownLease && t.h.At(work).Time > l.deadline
}

// holds tells whether the session asked for a key.
func holds(s *history.Session, key string) bool {
	for _, k := range s.Keys {
		if k == key {
			return true
		}
	}
	return false
}
