package models

import (
	"fmt"
	"io"

	"github.com/anishathalye/porcupine"
)

// Limit is how many steps a search may try before it gives up. It takes some seconds and
// at most some hundred megabytes to get there. The limit counts steps and not time, so
// that a search ends alike on every machine.
const Limit = 32 << 20

// legalStep is what a legal step counts for, because porcupine remembers each of them: 32
// that are not legal take as long as a machine needs for the memory of one that is.
const legalStep = 32

// Result is what a search found.
type Result struct {
	Linearizable bool
	Exhausted    bool // the search came to its limit; Linearizable means nothing
}

// Search looks for an order of the events of one lock that the model allows. The
// calls without a return must have been closed: see [Close].
func Search(m porcupine.Model, events []porcupine.Event, limit int) Result {
	left := limit
	found := porcupine.CheckEvents(bounded(m, &left), events)
	return Result{Linearizable: found && left > 0, Exhausted: left <= 0}
}

// Draw writes a page that shows the operations, how far an order explains them, and where
// no order goes on. The page needs nothing but a browser. If the search for the order came to
// its limit, Draw writes nothing and returns false.
func Draw(w io.Writer, m porcupine.Model, events []porcupine.Event, marks []porcupine.Annotation) (drawn bool, err error) {
	left := Limit
	_, info := porcupine.CheckEventsVerbose(bounded(m, &left), events, 0)
	if left <= 0 {
		return false, nil
	}
	info.AddAnnotations(marks)
	if err := porcupine.Visualize(m, info, w); err != nil {
		return false, fmt.Errorf("draw: %w", err)
	}
	return true, nil
}

// bounded returns a model that rejects every step after the limit is used up. The search then
// ends, and its answer means nothing. The counter needs no mutex: a lock has one partition, so
// one goroutine searches.
func bounded(m porcupine.Model, left *int) porcupine.Model {
	b := m
	b.PartitionEvent = nil
	b.Step = func(state, input, output any) (bool, any) {
		if *left--; *left <= 0 {
			return false, state
		}
		legal, next := m.Step(state, input, output)
		if legal {
			*left -= legalStep - 1
		}
		return legal, next
	}
	return b
}

// Close gives every call that has no return one of unknown outcome, at the end of
// time. Without it porcupine takes the history for illegal whatever the model says:
// a call that never returns can never be placed.
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
