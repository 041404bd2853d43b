package checker

import (
	"slices"

	"lockbench/internal/history"
)

// This file has the rules of points about clients that die or wait.

// dead: the client died with the lock.
func dead(e *episode) string {
	why := "no client died"
	for s := range e.died {
		switch {
		case !granted(s) || s.Acquire.Return > s.DiedAt || e.released(s) < s.DiedAt:
			if why == "no client died" {
				why = "the client that died did not hold a lock"
			}
		case e.asked(s, e.time(s.DiedAt), e.time(e.to), false):
			return ""
		default:
			why = "no other client asked for the lock of the client that died"
		}
	}
	return why
}

// deadWaiter: the client died while it waited in an acquire.
func deadWaiter(e *episode) string {
	why := "no client died"
	for s := range e.died {
		why = "the client that died did not wait for a lock that another client held"
		pending := s.Acquire.Return < 0 || s.Acquire.Return > s.DiedAt
		if pending && e.h.Events[s.Acquire.Invoke].Wait > 0 && e.holder(s, s.DiedAt) != nil {
			return ""
		}
	}
	return why
}

// died yields the sessions of clients that a fault killed.
func (e *episode) died(yield func(*history.Session) bool) {
	for _, f := range e.named("kill") {
		for _, s := range e.sessions {
			if s.DiedAt >= f.Begins && e.has(s.DiedAt) && f.Strikes(s.Client) && !yield(s) {
				return
			}
		}
	}
}

// waitedFor: a client waits in an acquire when the holder releases the lock, or when the fault begins.
func waitedFor(e *episode) string {
	waits := func(s *history.Session, pos int) bool {
		return slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
			return excludes(s, o) && e.h.Events[o.Acquire.Invoke].Wait > 0 && o.Acquire.Invoke < pos && (o.Acquire.Return < 0 || o.Acquire.Return > pos)
		})
	}
	if len(e.faults) == 0 {
		for _, s := range e.sessions {
			if r := e.released(s); granted(s) && r < e.to && waits(s, r) {
				return ""
			}
		}
		return "no client waited when a holder released the lock"
	}
	for _, f := range e.faults {
		if s := e.trigger(f); s != nil && waits(s, f.Begins) {
			return ""
		}
	}
	return "no client waited when the fault began"
}

// leftQueue: the entry of a client that gave up may still be in the queue when the lock is free.
func leftQueue(e *episode) string {
	for _, s := range e.sessions {
		a := s.Acquire
		if wait := e.h.Events[a.Invoke].Wait; wait == 0 || a.Outcome != history.Failed || e.time(a.Return)-e.time(a.Invoke) < wait/2 {
			continue
		}
		if takenFrom(e, s, e.time(a.Return), e.time(e.to)) {
			return ""
		}
	}
	return "no client gave up after it had waited for a lock that was granted later"
}

// inOrder: an acquire was invoked after another session was seen in the queue, and before that one was answered.
func inOrder(e *episode) string {
	why := "no client was seen in the queue"
	for _, pos := range e.h.Probes {
		seen := e.h.Events[pos].Facts.Queued
		if seen == nil || !e.has(pos) {
			continue
		}
		for _, s := range e.sessions {
			if !slices.Contains(seen.Sessions, s.Name) {
				continue
			}
			if slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
				return excludes(s, o) && o.Acquire.Invoke > pos && (s.Acquire.Return < 0 || o.Acquire.Invoke < s.Acquire.Return)
			}) {
				return ""
			}
			why = "no client asked for the lock while another one was in the queue"
		}
	}
	return why
}
