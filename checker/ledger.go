package checker

import (
	"slices"

	"lockbench/checker/hold"
	"lockbench/checker/models"
	"lockbench/internal/history"
	"lockbench/locks"
)

// ledger is a history as checks read it: who held what from when until when. [Judge] makes
// one for all checks.
type ledger struct {
	*hold.Book
	h           *history.History
	durable     int // position from which a server may have forgotten what it granted
	owned       byOwner
	searchLimit int // of linearizable
}

func newLedger(h *history.History, o Options) *ledger {
	book := hold.Of(h, o.Release == Strict)
	return &ledger{Book: book, h: h, durable: durable(h), owned: ownersOf(book.Keys), searchLimit: models.Limit}
}

// durable is the position up to which a refused try can be believed: servers that are
// struck may come back with less, or more, than they had.
func durable(h *history.History) int {
	at := h.ClockStep()
	for pos := range history.FactsOf[history.Promoted](h) {
		at = min(at, pos)
		break
	}
	for _, pos := range h.NemesisAt() {
		if pos >= at {
			break
		}
		if slices.ContainsFunc(h.Events[pos].Targets, func(t string) bool { return !history.ParseParty(t).IsClient() }) {
			return pos
		}
	}
	return at
}

// strict tells whether a refusal is to be believed: it claims that the key was held by
// another client, and either the lock says so of all its refusals, or the event of this one.
// A fair lock cannot say it of all, because it may refuse a client for the queue.
// Where several keys were asked for, it is not known which one; servers that were struck may
// have forgotten what they granted, and may remember it again; and a reader that asks to
// write may stand in its own way, also where it may enter again.
func (l *ledger) strict(s *history.Session) bool {
	if s.Acquire.Outcome != history.Failed || len(s.Keys) != 1 || s.Acquire.Return >= l.durable {
		return false
	}
	refused, lock := l.h.At(s.Acquire.Return), l.h.Header.Claims
	claimed := refused.Strict || lock.Strict && !lock.Fair && refused.Error == history.ErrorTaken
	return claimed && !(s.Mode != locks.Shared && l.owned.mayRead(l.Hold(s)))
}
