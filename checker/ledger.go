package checker

import (
	"slices"

	"lockbench/checker/hold"
	"lockbench/checker/internal/models"
	"lockbench/internal/history"
	"lockbench/locks"
)

// ledger is a history in the form that checks read: each session with its keys and the positions at
// which it held them. [Judge] makes one ledger for all checks.
type ledger struct {
	*hold.Book
	h           *history.History
	durable     int // position from which a server may have forgotten what it granted
	owned       byOwner
	quiet       []history.Stretch // recovery periods after which all faults healed
	searchLimit int               // of linearizable
}

func newLedger(h *history.History, o Options) *ledger {
	book := hold.Find(h, o.Release == Strict)
	return &ledger{Book: book, h: h, durable: durable(h), owned: ownersOf(book.Keys), quiet: recovered(h), searchLimit: models.Limit}
}

// recovered returns the recovery periods that ended before the first fault that never healed. In a later period, a lock is excused
// as during a fault.
func recovered(h *history.History) []history.Stretch {
	end := len(h.Events)
	for _, f := range h.Faults {
		if f.Began() && f.Healed < 0 {
			end = min(end, f.Begins)
		}
	}
	return slices.DeleteFunc(slices.Clone(h.Quiet), func(q history.Stretch) bool { return q.To > end })
}

// durable returns the position up to which a refusal is evidence. After a fault, a server may have
// lost grants or have old grants again.
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

// strict reports whether a refusal proves that another client held the key. Either the lock claims
// this for all of its refusals, or the event claims it for this refusal. A fair lock cannot claim it
// for all, because it may refuse a client in favour of the queue. A refusal proves nothing if
//
//   - the request had several keys, because any of them may be the reason;
//   - a fault hit a server before, because the server may have lost grants or have old grants again;
//   - a reader wants to write, because the client may be refused because of its own read hold.
func (l *ledger) strict(s *history.Session) bool {
	if s.Acquire.Outcome != history.Failed || len(s.Keys) != 1 || s.Acquire.Return >= l.durable {
		return false
	}
	refused, lock := l.h.At(s.Acquire.Return), l.h.Header.Claims
	claimed := refused.Strict || lock.Strict && !lock.Fair && refused.Error == history.ErrorTaken
	return claimed && !(s.Mode != locks.Shared && l.owned.mayRead(l.Hold(s)))
}
