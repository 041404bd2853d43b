package checker

import (
	"slices"
	"sort"
	"time"

	"lockbench/internal/history"
)

// This file turns a session into three intervals. All of them are made of
// positions in the history, half open, so there are no ties and a pipe that is
// slow makes no overlap:
//
//	         grant            deadline          last sign      release call
//	           │                 │                  │               │
//	claim      ├─────────────────┼──────────────────┼───────────────┤   the user counts on it
//	belief     ├─────────────────┤                  │                   ... and so does the lock
//	work       ├─────────────────┴──────────────────┤                   ... and it mattered
//
// The claim begins when the grant has come back and ends when the release is asked
// for: both lie inside what the client believed, however late they were written
// down. Time comes in through deadlines alone.

// tenure is a session whose acquire was ok. Sessions of unknown outcome hold
// nothing for sure, and have none.
type tenure struct {
	session *history.Session
	grant   int  // position of the acquire's ok
	claim   span // from the grant
	asked   bool // the claim ends with a call of the client's own, which stands at claim.to
	sign    int  // the last one inside the claim, or -1
	renewed bool // its library keeps the lease alive

	// Where the end of a lease is not told, it lies between two times, and what
	// holds for both is certain. Elsewhere the two are the same.
	least, most reach
	doubtful    bool // they are not
}

// reach is how far a claim goes, given the end of the lease.
type reach struct {
	beliefs  []span // in order, apart from each other
	work     span   // empty if the lease had ended by the grant and was never used
	deadline time.Duration
	paused   time.Duration // for a renewed lease: since when it was paused for too long; else -1
}

// ledger knows of a history what all its tenures need.
type ledger struct {
	h       *history.History
	release Release
	stepped int // position from which the clocks are not to be trusted
}

func newLedger(h *history.History, o Options) *ledger {
	return &ledger{h: h, release: o.Release, stepped: h.ClockStep()}
}

// tenures returns those of all sessions that were granted, in the order of grants.
func (l *ledger) tenures() []*tenure {
	var all []*tenure
	for _, s := range l.h.Sessions {
		if s.Acquire.Outcome == history.Done {
			all = append(all, l.tenure(s))
		}
	}
	slices.SortFunc(all, func(a, b *tenure) int { return a.grant - b.grant })
	return all
}

func (l *ledger) tenure(s *history.Session) *tenure {
	t := &tenure{session: s, grant: s.Acquire.Return}
	t.claim, t.asked = l.claim(s)
	t.sign = l.lastSign(s, t.claim.to)
	if x := l.h.At(s.Acquire.Return).Extra; x != nil && x.Renewed {
		t.renewed = true
		t.least = l.renewed(t, x.Lease)
		t.most = t.least
		return t
	}
	first, last := l.deadline(s)
	t.least = l.leased(t, first)
	t.most = t.least
	if first != last {
		t.most, t.doubtful = l.leased(t, last), true
	}
	return t
}

// claim finds until when a session's client counts on the lock, and whether it was
// a call of its own that ended it. Of several ends the earliest counts.
func (l *ledger) claim(s *history.Session) (claim span, asked bool) {
	grant := s.Acquire.Return
	claim = span{grant, len(l.h.Events)}
	answered := len(l.h.Events) // when the client has answered the call that ended it
	for _, op := range s.Ops {
		if !l.ends(op) {
			continue
		}
		if !asked {
			claim.to, asked = op.Invoke, true
		}
		if op.Outcome != history.Maybe {
			answered = min(answered, op.Return)
		}
	}
	// That a lock is lost, or its client dead, is seen later than it is true. Only up
	// to the last sign is it certain that the client held on. What is noticed after it
	// had answered its release is no news: some libraries say "lost" of every lock
	// that they gave back, and a client may die much later.
	for _, noticed := range l.notices(s) {
		if noticed < 0 || noticed > answered {
			continue
		}
		certain := max(grant, l.lastSign(s, noticed)) + 1
		if certain < claim.to {
			claim.to, asked = certain, false
		}
	}
	return claim, asked
}

// ends tells whether an operation ends the claim with its call: a release, and also
// a renewal that is refused because nothing is held. Until that call its client had
// no reason to doubt; from then on it does not count on the lock any more.
//
// A release that fails ends the claim like any other, for its caller's critical
// section is over whatever the answer says about the server. The strict reading
// lets it end nothing: the claim goes on until a release that may have worked.
func (l *ledger) ends(op history.Op) bool {
	switch op.F {
	case history.Release:
		return l.release != Strict || op.Outcome != history.Failed
	case history.Renew:
		return op.Outcome == history.Failed && l.h.At(op.Return).Error == history.ErrorNotHeld
	}
	return false
}

// notices are the positions at which it was seen that the session is over: that the
// library says so, that its client is dead, that a check is answered with no.
func (l *ledger) notices(s *history.Session) []int {
	all := []int{s.LostAt, s.DiedAt}
	for _, op := range s.Ops {
		if op.Outcome != history.Failed || op.F == history.Release {
			continue
		}
		if op.F == history.Check || l.h.At(op.Return).Error == history.ErrorLost {
			all = append(all, op.Invoke)
		}
	}
	return all
}

// lastSign is the position of the last sign before an end, or -1.
func (l *ledger) lastSign(s *history.Session, end int) int {
	last := -1
	for _, op := range s.Ops {
		if op.Invoke < end && l.sign(op) {
			last = max(last, op.Invoke)
		}
	}
	return last
}

// sign tells whether an operation shows that its client ran and took itself for the
// holder when it was invoked. A write that the guarded thing refuses because of its
// old token is such a sign: the client came as the holder, and it was not the lock
// that stopped it.
func (l *ledger) sign(op history.Op) bool {
	switch op.F {
	case history.Check, history.Renew:
		return op.Outcome == history.Done
	case history.FRead, history.Write:
		return op.Outcome == history.Done ||
			op.Outcome == history.Failed && l.h.At(op.Return).Error == history.ErrorStaleToken
	}
	return false
}

// after is the position of the first event later than a time.
func (l *ledger) after(at time.Duration) int {
	events := l.h.Events
	return sort.Search(len(events), func(i int) bool { return events[i].Time > at })
}
