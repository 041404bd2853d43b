package sweep

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/internal/models"
)

const tooMany = "the search for an order of the operations that explains each refusal came to its limit"

// search decides the open refusals with porcupine. It divides the history where no session can hold: a hold before such a position
// neither explains a refusal after it nor conflicts with a session after it.
func (l *lock) search() {
	from, until := 0, uint32(0)
	for i := range l.sessions {
		s := &l.sessions[i]
		if s.call > until {
			l.searchStretch(from, i)
			from = i
		}
		switch s.state {
		case granted, unknown:
			until = max(until, s.last)
		case refused:
			until = max(until, s.ret)
		}
	}
	l.searchStretch(from, len(l.sessions))
}

// searchStretch decides the open refusals of a range of sessions, which are the first ones of l.open. If the refusals up to one of
// them have no order, it reports that refusal and continues without it. The number of refusals that it adds to a search doubles
// while there is an order, and halves while there is none.
func (l *lock) searchStretch(from, to int) {
	n := 0
	for n < len(l.open) && l.open[n] < uint32(to) {
		n++
	}
	var open []uint32
	open, l.open = slices.Clone(l.open[:n]), l.open[n:]
	for explained, more := 0, n; explained < len(open); {
		upTo := min(explained+more, len(open))
		found := models.Search(models.Lock(l.reentrant), l.events(from, to, open[:upTo]), models.Limit)
		switch {
		case found.Exhausted:
			l.why = tooMany
			return
		case found.Linearizable:
			explained, more = upTo, 2*more
		case upTo == explained+1:
			l.found(RefusedThoughFree, open[explained], None)
			open = slices.Delete(open, explained, upTo)
		default:
			more = (upTo - explained) / 2
		}
	}
}

// events returns a range of sessions and some of its refusals as events for porcupine.
func (l *lock) events(from, to int, refusals []uint32) []porcupine.Event {
	e := placedEvents{lock: l}
	for i := from; i < to; i++ {
		e.session(uint32(i))
	}
	for _, i := range refusals {
		e.add(l.sessions[i].call, l.sessions[i].ret, i, models.Acquire, models.Refused)
	}
	for _, d := range l.denials {
		if int(d.session) >= from && int(d.session) < to && l.sessions[d.session].state == unknown {
			e.add(d.call, d.ret, d.session, models.Release, models.Refused)
		}
	}
	slices.SortFunc(e.all, func(a, b placedEvent) int { return cmp.Compare(a.at, b.at) })
	events := make([]porcupine.Event, len(e.all))
	for i, p := range e.all {
		events[i] = p.Event
	}
	return models.Close(events)
}

// placedEvents collects events with their positions.
type placedEvents struct {
	*lock
	all   []placedEvent
	calls int
}

type placedEvent struct {
	at uint32
	porcupine.Event
}

// session adds the hold of a session, if it has one: its begin, and its end if that is possible.
func (e *placedEvents) session(id uint32) {
	s := &e.sessions[id]
	switch s.state {
	case granted:
		e.add(s.call, s.ret, id, models.Acquire, models.OK)
	case unknown:
		e.add(s.call, Never, id, models.Acquire, models.Unknown)
	default:
		return
	}
	switch {
	case s.end == Never:
	case s.released && s.state == unknown:
		e.add(s.end, s.last, id, models.Release, models.OK) // the session held, so the acquire took effect
	case s.last < Never && s.state == granted:
		e.add(s.end, s.last, id, models.Expire, models.OK) // it certainly ends
	default:
		e.add(s.end, Never, id, models.Expire, models.Unknown)
	}
}

// add adds a call with its outcome.
func (e *placedEvents) add(call, ret, session uint32, kind models.Kind, out models.Outcome) {
	s := &e.sessions[session]
	c := models.Call{Kind: kind, Shared: s.shared, Session: int32(session) + 1, Owner: int32(s.owner) + 1}
	e.all = append(e.all, placedEvent{call, porcupine.Event{Kind: porcupine.CallEvent, Id: e.calls, Value: c}})
	if out != models.Unknown {
		e.all = append(e.all, placedEvent{ret, porcupine.Event{Kind: porcupine.ReturnEvent, Id: e.calls, Value: out}})
	}
	e.calls++
}
