package checker

import (
	"slices"

	"lockbench/checker/hold"
	"lockbench/checker/models"
	"lockbench/internal/history"
	"lockbench/locks"
)

// ledger is a history as checks read it: which session held which key from when until when.
// [Judge] makes one for all checks.
type ledger struct {
	*hold.Book
	h           *history.History
	durable     int // position from which a server may have forgotten what it granted
	owned       byOwner
	searchLimit int // of linearizable
}

func newLedger(h *history.History, o Options) *ledger {
	book := hold.Find(h, o.Release == Strict)
	return &ledger{Book: book, h: h, durable: durable(h), owned: ownersOf(book.Keys), searchLimit: models.Limit}
}

// durable is the position up to which a refused try can be believed: after a fault a server
// may come back with less, or more, than it had.
func durable(h *history.History) int {
	at := h.ClockStep()
	promoted := func(pos int) bool { return h.Events[pos].Facts.Promoted != nil }
	if i := slices.IndexFunc(h.Probes, promoted); i >= 0 {
		at = min(at, h.Probes[i])
	}
	for _, pos := range h.Nemesis {
		if pos >= at {
			break
		}
		if slices.ContainsFunc(h.Events[pos].Targets, func(t string) bool { return !history.ParseParty(t).IsClient() }) {
			return pos
		}
	}
	return at
}

// strict tells whether a refusal proves that another client held the key. Either the lock
// claims that for all its refusals, or the event of this one does. A fair lock cannot claim it
// for all, because it may refuse a client for the queue. Nothing is proven if several keys were
// asked for, since any of them may be the reason; if a fault hit a server before, since it may
// have forgotten grants, and may remember them again; or if a reader asks to write, since it
// may be refused because of itself, even if the lock is reentrant.
func (l *ledger) strict(s *history.Session) bool {
	if s.Acquire.Outcome != history.Failed || len(s.Keys) != 1 || s.Acquire.Return >= l.durable {
		return false
	}
	refused, lock := l.h.At(s.Acquire.Return), l.h.Header.Claims
	claimed := refused.Strict || lock.Strict && !lock.Fair && refused.Error == history.ErrorTaken
	return claimed && !(s.Mode != locks.Shared && l.owned.mayRead(l.Hold(s)))
}
