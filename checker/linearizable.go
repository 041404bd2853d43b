package checker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/internal/models"
	"lockbench/internal/history"
)

// A history with more operations than this is not judged as a whole. With about twenty calls of
// unknown outcome, a search can take longer than a user waits, especially if there is a violation.
const (
	wholeOps     = 200
	wholeUnknown = 12
)

// linearizable searches with porcupine for an order of the operations in which every answer was right.
// porcupine knows a lock only as a [models.Model], so the check is independent of the other checks. It
// judges a small history as a whole, and otherwise the sessions of the first double grant that
// exclusion found. If it cannot judge, or if the search reaches its limit, it changes no verdict.
//
// It compares holds with the answers, and not with the knowledge of the clients: after the end of its
// lease, a hold can end at any time.
func linearizable(l *ledger, said Report) Result {
	// The other classes depend on the end of a lease, which answers alone do not show.
	excluded, _ := said.Check(Exclusion)
	if i := slices.IndexFunc(excluded.Findings, func(f Finding) bool { return f.Class == DoubleGrant }); i >= 0 {
		return aroundFinding(l, excluded.Findings[i])
	}
	if leased(l.h) {
		return Result{Note: "not judged: its grants have leases, and those are a matter of time; exclusion judges them"}
	}
	var keys []*calls
	ops, unknown := 0, 0
	for _, k := range l.Keys {
		many := len(k.All) > wholeOps
		if !many {
			c := newCalls(l, k.Name, k.All, false)
			keys, ops, unknown = append(keys, c), ops+c.ops, unknown+c.unknown
		}
		if many || ops > wholeOps || unknown > wholeUnknown {
			return Result{Note: fmt.Sprintf("not judged: more than %d operations, or more than %d of unknown outcome", wholeOps, wholeUnknown)}
		}
	}
	return searchKeys(l, keys)
}

// searchKeys judges the keys one after the other.
func searchKeys(l *ledger, keys []*calls) Result {
	var findings []Finding
	var note, gaveUp string
	for _, k := range keys {
		switch found := searchCalls(l, k, len(k.events)); {
		case found.Exhausted:
			gaveUp = fmt.Sprintf("not judged: the search over %d operations on %q, %d of unknown outcome, came to its limit", k.ops, k.key, k.unknown)
		case !found.Linearizable:
			findings = append(findings, unexplained(l, k))
		case k.joined:
			note = fmt.Sprintf("%q is explained by itself, but not together with the locks that were asked for in one call", k.key)
		}
	}
	r := violated(findings)
	r.Note = cmp.Or(gaveUp, note)
	return r
}

// searchCalls looks for an order of the first n events of a key.
func searchCalls(l *ledger, k *calls, n int) models.Result {
	return models.Search(modelOf(l), k.upTo(n), l.searchLimit)
}

func modelOf(l *ledger) porcupine.Model {
	return models.Lock(l.h.Header.Model.Has(history.Reentrant))
}

// unexplained finds the answer that no order explains: the last event of the shortest prefix of the
// history without an explanation. A longer prefix has no explanation either, so a binary search finds
// the shortest.
func unexplained(l *ledger, k *calls) Finding {
	low, high := 0, len(k.events) // explained up to low, not up to high
	for low+1 < high {
		mid := (low + high) / 2
		if searchCalls(l, k, mid).Linearizable {
			low = mid
		} else {
			high = mid
		}
	}
	at := k.events[high-1].at
	e, events := &l.h.Events[at], []int{at}
	if call := k.events[k.call(high-1)].at; call != at {
		events = []int{call, at}
	}
	return Finding{
		Rule: "not-linearizable", Key: k.key, Events: events, Sessions: []string{e.Session}, Event: at,
		Text: fmt.Sprintf("no order of what was done on %q explains that the %s of client %d (session %s) was answered with %s at %s",
			k.key, e.F, e.Client, e.Session, e.Type, seconds(e.Time)),
	}
}

// aroundFinding judges the sessions that a finding of exclusion names. Leaving out other sessions cannot
// make a legal history illegal, because fewer holders are always allowed.
func aroundFinding(l *ledger, around Finding) Result {
	k := callsOfFinding(l, around, false)
	var r Result
	switch found := searchCalls(l, k, len(k.events)); {
	case found.Exhausted:
		r.Note = fmt.Sprintf("not judged: the search over the %d operations around the first finding came to its limit", k.ops)
	case found.Linearizable:
		r.Note = fmt.Sprintf("not shown: the %d operations around the first finding can be explained by leases that ended; exclusion judges those by time", k.ops)
	default:
		r = violated([]Finding{unexplained(l, k)})
		r.Note = fmt.Sprintf("judged: the %d operations around the first finding of exclusion", k.ops)
	}
	return r
}

// Draw writes a page with the sessions that a finding names and the faults of that time. The page shows how far an
// order explains the answers, and the operation after which no order goes on. Unlike in the
// check, a client's work counts as holding, so that an overstay shows, too.
func Draw(w io.Writer, h *history.History, o Options, f Finding) error {
	if len(h.Sessions) == 0 {
		return errors.New("draw: no client asked for a lock")
	}
	l := newLedger(h, o)
	f.Event = h.Position(f.Event)
	k := callsOfFinding(l, f, true)
	drawn, err := models.Draw(w, modelOf(l), k.upTo(len(k.events)), marks(l, k, f))
	if !drawn && err == nil {
		err = errors.New("draw: the search for an order of the operations came to its limit")
	}
	return err
}

// leased reports whether any lease can have ended.
func leased(h *history.History) bool {
	for _, s := range h.Sessions {
		if h.At(s.Acquire.Invoke).TTL > 0 {
			return true
		}
		if e := h.At(s.Acquire.Return); e != nil && (e.Until != nil || e.Renewed) {
			return true
		}
	}
	return false
}
