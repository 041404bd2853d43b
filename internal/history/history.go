// Package history defines the format between the packages that run locks and those that
// judge them: a header and a list of events, as JSON lines.
//
// A [Recorder] writes a history during a run. [Read] reads one, from lockbench or from
// any other program, and pairs its events: a [History] has a list of [Session]s. Each is
// one attempt to get a lock, with the operations of that hold. Each [Op] of a session is
// an invocation and its return.
//
//	{"index":0,...,"type":"invoke","f":"acquire","session":"0.1","key":"a"}   Acquire.Invoke = 0
//	{"index":1,...,"type":"ok","f":"acquire","session":"0.1"}                 Acquire.Return = 1, Done
//	{"index":2,...,"type":"invoke","f":"release","session":"0.1"}             Ops[0].Invoke = 2
//	(the end)                                                                 Ops[0].Return = -1, Maybe
//
// [Facts] are observations and marks of the run. From the facts and the events of the nemesis, a history derives its
// faults, episodes, recovery periods and pauses.
//
// An operation that did not return may have taken effect, and may still do so at any
// later time. This third outcome, unknown, is the reason for the rule that a process or
// an owner with an unknown operation acquires no more: its next operation could be
// concurrent with that one, and a client that is concurrent with itself cannot be judged.
//
// Recorder and reader share one validator, so every recorded history can be read. A line
// that breaks the rules is refused with a [Malformed] error, which names the line, the
// operation and what was expected.
//
// Positions in Events give the order of events. Times do not, because two events can have
// the same time.
package history

import (
	"cmp"
	"slices"

	"lockbench/locks"
)

// History is a recorded run, or part of one.
type History struct {
	Header   Header
	Events   []Event
	Sessions []*Session // in the order in which their acquires were invoked
	Keys     []string   // of all sessions, in the order in which they were first asked for
	Torn     bool       // the last line was cut off and is left out
	Warnings []string   // for the user: assumptions of the reader
	Lines    []int      // by position: the line in the file; nil if the history was not read from one

	// Derived from the events that are not operations.
	Nemesis  []int          // positions of the nemesis's events
	Probes   []int          // positions of the events with facts
	Faults   []Fault        // in the order in which they began
	Episodes []EpisodeStart // in order; none if the history does not say where they begin
	Quiet    []Stretch      // the recovery periods, in order
}

// Line returns the line of an event in its file, from 1.
func (h *History) Line(pos int) int {
	if pos >= 0 && pos < len(h.Lines) {
		return h.Lines[pos]
	}
	if e := h.At(pos); e != nil {
		return e.Index + 2 // the header is line 1
	}
	return 0
}

// Session is one attempt to get a lock, and all operations under it.
type Session struct {
	Name    string
	Place   int     // in History.Sessions
	Process Process // of the acquire; later operations may be of a fresh one
	Client  int32
	Keys    []string // at least one, none twice
	KeyAt   []int    // the place of each in History.Keys
	Mode    locks.Mode
	Owner   string // the session's own name, if the acquire named no other
	Acquire Op
	Ops     []Op  // release, renew, check, read and write, in the order of their invocations
	Lost    []int // positions of the notices that the lock is lost
	// DiedAt is the position of the first death of the session's client after the
	// acquire was invoked, or -1. It is also set if the session was over by then.
	DiedAt int
}

// Op is one operation: an invocation and at most one return.
type Op struct {
	F       string
	Invoke  int // position in Events
	Return  int // position in Events, or -1
	Outcome Outcome
}

// Outcome says whether an operation took effect. The zero value is Maybe.
type Outcome uint8

// The outcomes.
const (
	Maybe       Outcome = iota // info, or no return: may take effect at any later time, or never
	Done                       // ok: it happened
	Failed                     // fail: it did not happen and never will
	Unconfirmed                // ok with unconfirmed: it may have happened, and no later
)

func (o Outcome) String() string { return [...]string{"maybe", "done", "failed", "unconfirmed"}[o] }

// At returns the event at a position, or nil if there is none, as at -1.
func (h *History) At(pos int) *Event {
	if pos < 0 || pos >= len(h.Events) {
		return nil
	}
	return &h.Events[pos]
}

// Position returns the place in Events of the event with an index, or of the nearest one. In
// lockbench's own histories the two are the same; a history of another program may have gaps.
func (h *History) Position(index int) int {
	if index >= 0 && index < len(h.Events) && h.Events[index].Index == index {
		return index
	}
	at, _ := slices.BinarySearchFunc(h.Events, index, func(e Event, index int) int { return e.Index - index })
	return max(min(at, len(h.Events)-1), 0)
}

// Build makes a history of events and checks the same rules as [Read]. It keeps events, and lines, which says in which
// line of its file each event stands; without lines, the events count as those of a file without blank lines.
func Build(h Header, events []Event, lines ...int) (*History, error) {
	h.Lockbench = cmp.Or(h.Lockbench, Version)
	b := &History{Header: h, Lines: lines}
	p, m := newPairing(b)
	for pos := 0; pos < len(events) && m == nil; pos++ {
		m = p.add(&events[pos], p.lineOf(pos))
	}
	if m != nil {
		return nil, m
	}
	b.Events = events
	b.derive()
	return b, nil
}
