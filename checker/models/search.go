package models

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// Limit bounds a search. There is no way to ask for none: a search that nobody bounds
// ends when the machine's memory does.
type Limit struct {
	Time   time.Duration // at most; 0 means DefaultLimit's
	Memory int64         // bytes, as estimated; 0 means DefaultLimit's
}

// DefaultLimit is what a search may cost where nothing else is said.
var DefaultLimit = Limit{Time: 2 * time.Second, Memory: 256 << 20}

func (l Limit) orDefault() Limit {
	if l.Time <= 0 {
		l.Time = DefaultLimit.Time
	}
	if l.Memory <= 0 {
		l.Memory = DefaultLimit.Memory
	}
	return l
}

// Result is what a search found.
type Result struct {
	Linearizable bool
	// Exhausted says which limit ended the search ("time", "memory"). Then nothing is
	// known, and Linearizable means nothing.
	Exhausted string
	info      porcupine.LinearizationInfo
}

// Search looks for an order of the events of one lock that the model allows. The
// calls without a return must have been closed: see [Close].
//
// porcupine has a limit of time, but reports what it has not finished in a way that
// can be read as a pass, and none of memory: it keeps a set of n bits for each step
// that it remembers. Both are bounded here, from within the step function: once a
// limit is passed no step is legal any more, the search folds up, and its answer is
// thrown away.
func Search(m porcupine.Model, events []porcupine.Event, limit Limit) Result {
	return search(m, events, limit.orDefault(), false)
}

// SearchToDraw is Search that also keeps what [Draw] needs.
func SearchToDraw(m porcupine.Model, events []porcupine.Event, limit Limit) Result {
	return search(m, events, limit.orDefault(), true)
}

func search(m porcupine.Model, events []porcupine.Event, limit Limit, draw bool) Result {
	// A legal step is remembered with the bits of what is placed, its state, and what a
	// map of slices costs.
	const overhead = 160
	perStep := int64(len(events)/2/8) + overhead
	b := budget{steps: limit.Memory / perStep, until: time.Now().Add(limit.Time)}
	bounded := m
	bounded.PartitionEvent = nil // one lock, one goroutine: budget is not shared
	bounded.StepContext = func(_ context.Context, state, input, output any) (bool, any) {
		if b.spent() {
			return false, state
		}
		ok, next := m.Step(state, input, output)
		if ok {
			b.legal++
		}
		return ok, next
	}
	// Belt and braces: the step function ends the search long before.
	timeout := limit.Time + time.Minute
	var r Result
	var found porcupine.CheckResult
	if draw {
		found, r.info = porcupine.CheckEventsVerbose(bounded, events, timeout)
	} else {
		found = porcupine.CheckEventsTimeout(bounded, events, timeout)
	}
	r.Linearizable = found == porcupine.Ok
	if why := b.why.Load(); why != nil {
		r.Linearizable, r.Exhausted = false, *why
	} else if found == porcupine.Unknown {
		r.Linearizable, r.Exhausted = false, "time"
	}
	return r
}

// budget is used by the one goroutine that searches; why is read by another, which
// does not wait for it.
type budget struct {
	steps, legal, seen int64
	until              time.Time
	why                atomic.Pointer[string]
}

func (b *budget) spent() bool {
	if b.why.Load() != nil {
		return true
	}
	b.seen++
	why := ""
	switch {
	case b.legal > b.steps:
		why = "memory"
	case b.seen%256 == 0 && time.Now().After(b.until):
		why = "time"
	default:
		return false
	}
	b.why.Store(&why)
	return true
}

// Close gives every call that has no return one of unknown outcome, at the end of
// time. Without it porcupine takes the history for illegal whatever the model says:
// a call that never returns can never be placed.
func Close(events []porcupine.Event) []porcupine.Event {
	open := make(map[int]int) // by operation: its call
	for i := range events {
		if events[i].Kind == porcupine.CallEvent {
			open[events[i].Id] = i
		} else {
			delete(open, events[i].Id)
		}
	}
	for i, n := 0, len(events); i < n && len(open) > 0; i++ {
		e := events[i]
		if at, ok := open[e.Id]; ok && at == i {
			events = append(events, porcupine.Event{ClientId: e.ClientId, Kind: porcupine.ReturnEvent, Id: e.Id, Value: Answer{}})
		}
	}
	return events
}
