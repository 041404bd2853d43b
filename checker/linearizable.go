package checker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/models"
	"lockbench/internal/history"
)

// What is judged in whole. With about twenty calls of unknown outcome a search can
// take longer than a user waits, and it does so when there is something to find.
const (
	wholeOps     = 200
	wholeUnknown = 12
)

// The memory ends a search, so that it ends alike on every machine; the time is there
// for one that is much too slow.
var searchLimit = models.Limit{Time: 20 * time.Second, Memory: 128 << 20}

// linearizable asks porcupine, which knows nothing of locks but a [models.Model], for
// an order of the operations in which every answer was right. It is the second opinion
// beside the checks that know about locks, and it is not asked for more than it can
// do: a small history in whole, or the few sessions around the first double grant that
// exclusion found. Elsewhere it says "not judged" and changes no verdict. A search that came
// to its limit of time or memory has no answer. It is left out as well, so a slow machine
// never changes a verdict.
//
// Holding is held to what was answered, not to what the clients could know: a lease
// lets a hold end at some moment after it has run out, and that is all it does here.
func linearizable(l *ledger, said Report) Result {
	m := model(l.h)
	excluded, _ := said.Check(Exclusion)
	if f := firstDoubleGrant(excluded); f != nil {
		return l.aroundFinding(m, *f)
	}
	if leased(l.h) {
		return Result{Note: "not judged: its grants have leases, and those are a matter of time; exclusion judges them"}
	}
	var keys []*calls
	to, ops, unknown := converter{l: l, as: asAnswered}, 0, 0
	for _, k := range l.Keys() {
		if len(k.All) > wholeOps {
			ops += len(k.All) // without making calls of what is too much anyway
			continue
		}
		to.read(k.All)
		ops, unknown = ops+to.k.ops, unknown+to.k.unknown
		if ops <= wholeOps && unknown <= wholeUnknown {
			keys = append(keys, to.calls(k.Name))
		}
	}
	if ops > wholeOps || unknown > wholeUnknown {
		return Result{Note: fmt.Sprintf("not judged: %d operations, %d of unknown outcome; in whole it judges up to %d and %d", ops, unknown, wholeOps, wholeUnknown)}
	}
	return l.searchKeys(m, keys)
}

func model(h *history.History) porcupine.Model {
	return models.Lock(h.Header.Model.Has(history.Reentrant))
}

// searchKeys judges one key after the other, so that what one needs is free for the next.
func (l *ledger) searchKeys(m porcupine.Model, keys []*calls) Result {
	var findings []Finding
	var note, gaveUp string
	limit := l.limit()
	until := time.Now().Add(limit.Time)
	for _, k := range keys {
		limit.Time = max(time.Millisecond, time.Until(until))
		switch found := models.Search(m, k.events, limit); {
		case found.Exhausted != "":
			gaveUp = fmt.Sprintf("not judged: the search over %d operations on %q, %d of unknown outcome, came to its limit of %s", k.ops, k.key, k.unknown, found.Exhausted)
		case !found.Linearizable:
			findings = append(findings, l.unexplained(m, k, limit))
		case k.joined:
			note = fmt.Sprintf("%q is explained by itself, but not together with the locks that were asked for in one call", k.key)
		}
	}
	r := violated(findings)
	r.Note = cmp.Or(gaveUp, note)
	return r
}

func (l *ledger) limit() models.Limit {
	limit := l.search
	if limit.Time <= 0 {
		limit.Time = searchLimit.Time
	}
	if limit.Memory <= 0 {
		limit.Memory = searchLimit.Memory
	}
	return limit
}

// unexplained finds the answer that no order explains: the last event of the shortest
// beginning of the history that cannot be explained. What has no explanation does not
// get one by going on, so the shortest is found by halving.
func (l *ledger) unexplained(m porcupine.Model, k *calls, limit models.Limit) Finding {
	low, high := 0, len(k.events) // explained up to low, not up to high
	for low+1 < high {
		mid := (low + high) / 2
		if models.Search(m, k.upTo(mid), limit).Linearizable {
			low = mid
		} else {
			high = mid
		}
	}
	at := k.at[high-1]
	last := min(at, len(l.h.Events)-1)
	e := &l.h.Events[last]
	events := []int{last}
	if from := k.call[k.events[high-1].Id]; k.at[from] != at {
		events = []int{k.at[from], last}
	}
	return Finding{
		Rule: "not-linearizable", Key: k.key, Events: events, Sessions: []string{e.Session}, Event: last,
		Text: fmt.Sprintf("no order of what was done on %q explains that the %s of client %d (session %s) was answered with %s at %s",
			k.key, e.F, e.Client, e.Session, e.Type, seconds(e.Time)),
	}
}

// aroundFinding gives a second opinion on what exclusion found. It judges whole
// sessions: leaving one out can make nothing illegal that was legal, because fewer
// holders are always allowed.
func (l *ledger) aroundFinding(m porcupine.Model, around Finding) Result {
	k := l.window(around, asAnswered)
	var r Result
	// Mostly it shows at the grant, and what comes later only makes the search longer.
	at, _ := slices.BinarySearch(k.at, around.Event+1)
	found := models.Search(m, k.upTo(at), l.limit())
	if found.Linearizable {
		found = models.Search(m, k.events, l.limit())
	}
	switch {
	case found.Exhausted != "":
		r.Note = fmt.Sprintf("not judged: the search over the %d operations around the first finding came to its limit of %s", k.ops, found.Exhausted)
	case found.Linearizable:
		r.Note = fmt.Sprintf("not shown: the %d operations around the first finding can be explained by leases that ended; exclusion judges those by time", k.ops)
	default:
		r = violated([]Finding{l.unexplained(m, k, l.limit())})
		r.Note = fmt.Sprintf("judged: the %d operations around the first finding of exclusion", k.ops)
	}
	return r
}

// Draw writes a page with the operations and faults around a finding. The page shows how far an
// order explains the answers, and the operation after which no order goes on. Unlike in the
// check, a client's work counts as holding, so that an overstay shows, too.
func Draw(w io.Writer, h *history.History, o Options, f Finding) error {
	if len(h.Sessions) == 0 {
		return errors.New("draw: nobody asked for a lock")
	}
	if h.Header.Model.Has(history.Semaphore) {
		return errors.New("draw: there is no drawing of a semaphore")
	}
	m := model(h)
	l := newLedger(h, o)
	f.Event = h.Position(f.Event)
	k := l.window(f, withWork)
	found := models.SearchToDraw(m, k.events, models.Limit{})
	if found.Exhausted != "" { // then only those that it is about
		k = l.calls(k.key, l.holdsOf(f), withWork)
		found = models.SearchToDraw(m, k.events, models.Limit{})
	}
	return models.Draw(w, m, found, l.marks(k, f))
}

// firstDoubleGrant is the finding to give a second opinion on. The other classes rest
// on when a lease ended, of which answers alone know too little.
func firstDoubleGrant(r Result) *Finding {
	for i := range r.Findings {
		if r.Findings[i].Class == DoubleGrant {
			return &r.Findings[i]
		}
	}
	return nil
}

// leased tells whether any lease can have ended.
func leased(h *history.History) bool {
	for _, s := range h.Sessions {
		if h.At(s.Acquire.Invoke).TTL > 0 {
			return true
		}
		if e := h.At(s.Acquire.Return); e != nil && (e.HasUntil || e.Extra != nil && e.Extra.Renewed) {
			return true
		}
	}
	return false
}
