package checker

import (
	"fmt"
	"slices"

	"lockbench/internal/history"
)

// This file has the rules of points about single requests and replies.

// operation returns the operation of its trigger in which a fault began.
func (e *episode) operation(f *history.Fault) (s *history.Session, op history.Op, ok bool) {
	s = e.trigger(f)
	begins := &e.h.Events[f.Begins]
	if s == nil || begins.Op == "" {
		return nil, op, false
	}
	if begins.Op == history.Acquire {
		return s, s.Acquire, true
	}
	for _, op := range s.Ops {
		if op.F == begins.Op && (op.Return < 0 || op.Return > f.Begins) {
			return s, op, true
		}
	}
	// The library renews by itself, which is not an operation of the history.
	return s, history.Op{F: begins.Op, Invoke: f.Begins, Return: -1}, begins.Op == history.Renew
}

// holder returns another session that holds a lock of s at a position.
func (e *episode) holder(s *history.Session, pos int) *history.Session {
	for _, o := range e.sessions {
		if o != s && granted(o) && o.Acquire.Return <= pos && e.released(o) > pos && (o.DiedAt < 0 || o.DiedAt > pos) &&
			slices.ContainsFunc(s.KeyAt, func(k int) bool { return slices.Contains(o.KeyAt, k) }) {
			return o
		}
	}
	return nil
}

// unheard: the answer that was lost was not a refusal, because no other client held the lock.
func unheard(e *episode) string {
	faults := e.named("lose-reply", "drop-replies", "kill")
	why := "no answer was lost"
	for _, f := range faults {
		s, op, ok := e.operation(f)
		if !ok && f.Name == "drop-replies" {
			if why = e.unheardIn(f); why == "" {
				return ""
			}
			continue
		}
		switch {
		case !ok:
		case op.F == history.Acquire && e.holder(s, f.Begins) != nil:
			why = "the answers that were lost were refusals"
		case f.Name == "drop-replies" && op.Return >= 0 && op.Return < f.Heals && op.Outcome != history.Maybe:
			why = fmt.Sprintf("the %s was answered in spite of the %s", op.F, f.Name)
		default:
			return ""
		}
	}
	return why
}

// unheardIn returns why no acquire of a free lock was without an answer during a fault.
func (e *episode) unheardIn(f *history.Fault) string {
	heals := f.Heals
	if heals < 0 {
		heals = e.to
	}
	for _, s := range e.sessions {
		a := s.Acquire
		open := a.Return < 0 || a.Return > heals || a.Outcome == history.Maybe && a.Return > f.Bites
		if a.Invoke < heals && open && (s.DiedAt < 0 || s.DiedAt > f.Begins) && f.Concerns(s.Client) && e.holder(s, a.Invoke) == nil {
			return ""
		}
	}
	return fmt.Sprintf("no client that asked for a free lock was without an answer during the %s of %s", f.Name, span(e.time(heals)-e.time(f.Bites)))
}

// halved: another client was granted the lock in the middle of an operation.
func halved(e *episode) string {
	why := "no operation was stopped between two requests"
	for _, f := range e.named("pause") {
		s, _, ok := e.operation(f)
		if !ok {
			continue
		}
		from, to := e.time(f.Bites), e.time(f.Healed)
		if takenFrom(e, s, from, to) {
			return ""
		}
		why = fmt.Sprintf("no other client was granted the lock during the pause of %s", span(to-from))
	}
	return why
}

// lateArrival: another client holds when the request is let through, or the client that sent it has given up.
func lateArrival(e *episode) string {
	return e.late(func(s, holder *history.Session, op history.Op, heals int) string {
		switch {
		case holder != nil && holder.Client != s.Client:
			return ""
		case op.F == history.Acquire && holder == nil && e.released(s) < heals:
			return ""
		case op.F == history.Renew && e.released(s) < heals && e.asked(s, e.time(heals), e.time(e.to), false):
			return "" // it may take a free lock for a client that has left
		case op.F == history.Acquire:
			return "the client had not given up when its request arrived"
		}
		return fmt.Sprintf("no other client held the lock when the %s arrived", op.F)
	})
}

// lateOwn: the same client holds again when the request is let through.
func lateOwn(e *episode) string {
	return e.late(func(s, holder *history.Session, op history.Op, heals int) string {
		if holder != nil && holder.Client == s.Client {
			return ""
		}
		return fmt.Sprintf("the client did not hold the lock again when its %s arrived", op.F)
	})
}

// late tries a point on each request that was kept back until its fault healed.
func (e *episode) late(missed func(s, holder *history.Session, op history.Op, heals int) string) string {
	why := "no request was kept back"
	for _, f := range e.named("hold-request", "cut") {
		s, op, ok := e.operation(f)
		switch {
		case !ok || f.Heals < 0:
		case op.Return >= 0 && op.Return < f.Heals && op.Outcome != history.Maybe:
			why = fmt.Sprintf("the %s was answered before the %s was over", op.F, f.Name)
		default:
			if why = missed(s, e.holder(s, f.Heals), op, f.Heals); why == "" {
				return ""
			}
		}
	}
	return why
}
