package checker

import (
	"slices"
	"time"

	"lockbench/internal/history"
)

// This file finds until when a client could believe, from what it was told of its
// lease: time enters the judgement here and nowhere else.

// deadline is when the lease ends that the acquire was granted: between two times,
// which are the same if the client tells it or if it can be computed.
func (l *ledger) deadline(s *history.Session) (first, last time.Duration) {
	asked, granted := l.h.At(s.Acquire.Invoke), l.h.At(s.Acquire.Return)
	switch {
	case granted.HasUntil:
		first = later(asked.Time, granted.Until)
	case asked.TTL == 0:
		first = never
	case asked.Wait == 0:
		first = later(asked.Time, asked.TTL)
	default:
		// The attempt that was granted began somewhere in the wait. Taking the start of
		// the wait for it would end a lease before its grant, and excuse everything.
		return later(asked.Time, asked.TTL), later(granted.Time, asked.TTL)
	}
	return first, first
}

// leased computes the reach of a lease that ends, and is moved by its renewals.
func (l *ledger) leased(t *tenure, deadline time.Duration) reach {
	r := reach{deadline: deadline, paused: -1}
	from := t.grant
	upTo := func(pos int) {
		r.beliefs = extend(r.beliefs, span{from, min(pos, l.after(r.deadline), t.claim.to)})
		from = pos
	}
	for _, m := range l.moves(t) {
		upTo(m.at)
		r.deadline = m.of(r.deadline)
	}
	upTo(t.claim.to)

	// A lease that ran out unused is nobody's fault: past it, only signs count.
	end := max(l.after(r.deadline), t.sign+1)
	if n := len(r.beliefs); n > 0 {
		end = max(end, r.beliefs[n-1].to)
	}
	r.work = span{t.grant, min(end, t.claim.to)}
	return r
}

// move is a renewal's call, or its ok.
type move struct {
	at       int
	deadline time.Duration
	answered bool
}

// of is the deadline after the move. A renewal that is under way may have shortened
// the lease already; only once it is answered may its client count on more.
func (m move) of(deadline time.Duration) time.Duration {
	if m.answered {
		return m.deadline
	}
	return min(m.deadline, deadline)
}

// moves are those of a claim, in order.
func (l *ledger) moves(t *tenure) []move {
	var all []move
	for _, op := range t.session.Ops {
		if op.F != history.Renew || op.Outcome == history.Failed || op.Invoke >= t.claim.to {
			continue
		}
		asked := l.h.At(op.Invoke)
		deadline := never
		if asked.TTL > 0 {
			deadline = later(asked.Time, asked.TTL)
		}
		if op.Outcome == history.Done {
			if answer := l.h.At(op.Return); answer.HasUntil {
				deadline = later(asked.Time, answer.Until)
			}
			if op.Return < t.claim.to {
				all = append(all, move{op.Return, deadline, true})
			}
		}
		all = append(all, move{op.Invoke, deadline, false})
	}
	slices.SortFunc(all, func(a, b move) int { return a.at - b.at })
	return all
}

// deadlineAt is the deadline in force at a position.
func (l *ledger) deadlineAt(t *tenure, pos int) time.Duration {
	deadline, _ := l.deadline(t.session)
	for _, m := range l.moves(t) {
		if m.at <= pos {
			deadline = m.of(deadline)
		}
	}
	return deadline
}

// renewed computes the reach of a lease that its library renews: all of the claim,
// but for pauses so long that it could not. Renewals are taken to come three to a
// lease, as is the custom of such libraries; after a pause its client may still
// believe, until one of them should have told it.
func (l *ledger) renewed(t *tenure, lease time.Duration) reach {
	r := reach{deadline: never, paused: -1}
	period := lease / 3
	end, from, lapse := len(l.h.Events), t.grant, -1
	for _, p := range l.h.Pauses(t.session.Client) {
		began := l.h.Events[p.Begins].Time
		woke, told := l.h.Events[len(l.h.Events)-1].Time, end
		if p.Healed >= 0 {
			woke = l.h.Events[p.Healed].Time
			// Between two events a time has the position of the one before it: a client
			// that is told at 2 s and releases at 3 s came back to believing, also if
			// nothing else happened in that second. Past the last event nobody knows.
			if at := l.after(later(woke, period)); at < end {
				told = at - 1
			}
		}
		if woke-began <= lease-period || told <= t.grant || p.Begins >= t.claim.to {
			continue
		}
		if lapse < 0 || p.Begins > from { // else this pause began inside the one before
			lapse = p.Begins
		}
		r.beliefs = extend(r.beliefs, span{from, min(p.Begins, t.claim.to)})
		from = max(from, told)
	}
	if from >= t.claim.to && lapse >= 0 { // it never came back to believing: past this, only signs count
		r.paused = l.h.Events[lapse].Time
		r.work = span{t.grant, min(max(lapse, t.sign+1), t.claim.to)}
		return r
	}
	r.beliefs = extend(r.beliefs, span{from, t.claim.to})
	r.work = t.claim
	return r
}
