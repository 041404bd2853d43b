package models

import (
	"fmt"
	"io"

	"github.com/anishathalye/porcupine"
)

// Limit is the number of steps after which a search gives up. Reaching it takes seconds and
// at most a few hundred megabytes. The limit counts steps and not time, so that a search has
// the same result on every machine.
const Limit = 32 << 20

// legalStep is the weight of a legal step. porcupine stores every legal step, which costs about
// as much as 32 illegal ones. A stored step has a bit for each operation, so in a history of more
// than longHistory events it weighs more.
const (
	legalStep   = 32
	longHistory = 4096
)

// Result is the result of a search.
type Result struct {
	Linearizable bool
	Exhausted    bool // the search reached its limit, so Linearizable is meaningless
}

// Search looks for an order of the events of one lock that the model allows. Calls without
// a return must have been closed by [Close].
func Search(m porcupine.Model, events []porcupine.Event, limit int) Result {
	left := limit
	found := porcupine.CheckEvents(bounded(m, &left, len(events)), events)
	return Result{Linearizable: found && left > 0, Exhausted: left <= 0}
}

// Draw writes an HTML page that shows the operations, how many of them an order explains, and
// the operation at which every order fails. If the search reaches its limit, Draw writes nothing
// and returns false.
func Draw(w io.Writer, m porcupine.Model, events []porcupine.Event, marks []porcupine.Annotation) (drawn bool, err error) {
	left := Limit
	_, info := porcupine.CheckEventsVerbose(bounded(m, &left, len(events)), events, 0)
	if left <= 0 {
		return false, nil
	}
	info.AddAnnotations(marks)
	if err := porcupine.Visualize(m, info, w); err != nil {
		return false, fmt.Errorf("draw: %w", err)
	}
	return true, nil
}

// bounded returns a model that rejects every step after the limit. The search then ends, and its
// result is meaningless. The counter needs no mutex, because a lock has one partition and
// porcupine searches it in one goroutine.
func bounded(m porcupine.Model, left *int, events int) porcupine.Model {
	b := m
	weight := legalStep * (1 + events/longHistory)
	b.PartitionEvent = nil
	b.Step = func(state, input, output any) (bool, any) {
		if *left--; *left <= 0 {
			return false, state
		}
		legal, next := m.Step(state, input, output)
		if legal {
			*left -= weight - 1
		}
		return legal, next
	}
	return b
}

// Close adds a return with unknown outcome, at the end of time, to every call without a return.
// porcupine would otherwise reject every history that has such a call, because it cannot place
// the call in an order.
func Close(events []porcupine.Event) []porcupine.Event {
	returned := map[int]bool{}
	for _, e := range events {
		if e.Kind == porcupine.ReturnEvent {
			returned[e.Id] = true
		}
	}
	for _, e := range events[:len(events):len(events)] {
		if !returned[e.Id] {
			events = append(events, porcupine.Event{ClientId: e.ClientId, Kind: porcupine.ReturnEvent, Id: e.Id, Value: Unknown})
		}
	}
	return events
}
