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
// A [Fact] is an observation or a mark of the run. From the facts and the events of the nemesis, a history derives its
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
	"fmt"
	"io"
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
	Lines    []int      // by position: the line in the file of another program; nil for lockbench's own
	told     told       // derived from events that are not operations
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
	Permits int    // 1 or more
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
	Maybe  Outcome = iota // info, or no return: may take effect at any later time, or never
	Done                  // ok: it happened
	Failed                // fail: it did not happen and never will
)

func (o Outcome) String() string { return [...]string{"maybe", "done", "failed"}[o] }

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

// Encode writes the history as JSON lines. It writes the indexes of the events, so a part of a history keeps the numbers
// of the whole.
func (h *History) Encode(w io.Writer) error {
	line, err := appendLine(nil, &h.Header)
	if err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	for pos := range h.Events {
		if len(line) >= batchBytes {
			if _, err := w.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
		if line, err = AppendEvent(line, &h.Events[pos]); err != nil {
			return fmt.Errorf("encode event %d: %w", h.Events[pos].Index, err)
		}
	}
	_, err = w.Write(line)
	return err
}

// Build makes a history of events and checks the same rules as [Read]. Errors count lines
// as if the events stood in a file.
func Build(h Header, events []Event) (*History, error) {
	if h.Lockbench == "" {
		h.Lockbench = Version
	}
	b, err := newBuilder(h, len(events))
	if err != nil {
		return nil, err
	}
	for pos := range events {
		if m := b.add(&events[pos], pos+2); m != nil { // the header is line 1
			return nil, m
		}
	}
	return b.Done(), nil
}

// Builder makes a history of events one by one and checks the rules of the format. The validator finds the session and
// operation of an event.
type Builder struct {
	v       *validator
	h       *History
	alive   map[int32][]*Session // by client: sessions whose client has not died since
	keyAt   map[string]int       // the place of each key
	askedBy []*Session           // by key: the last session that asked for it
}

// newBuilder begins a history of about so many events. It refuses a wrong header.
func newBuilder(h Header, events int) (*Builder, error) {
	if m := h.check(); m != nil {
		return nil, m
	}
	return &Builder{
		v: newValidator(&h), h: &History{Header: h, Events: make([]Event, 0, events)},
		alive: make(map[int32][]*Session), keyAt: make(map[string]int),
	}, nil
}

// NewBuilder begins a history whose events stand in lines of the file of another program.
func NewBuilder(h Header, events int) (*Builder, error) {
	b, err := newBuilder(h, events)
	if err == nil {
		b.h.Lines = make([]int, 0, events)
	}
	return b, err
}

// Add takes the next event, which stands in a line of the file.
func (b *Builder) Add(e Event, line int) error {
	if m := b.add(&e, line); m != nil {
		return m
	}
	b.h.Lines = append(b.h.Lines, line)
	return nil
}

// Done returns the history of the added events.
func (b *Builder) Done() *History {
	b.h.tell()
	return b.h
}

func (b *Builder) add(e *Event, line int) *Malformed {
	if m := b.v.add(e, line); m != nil {
		return m
	}
	b.h.Events = append(b.h.Events, *e)
	b.pair(len(b.h.Events)-1, b.v.last)
	return nil
}

// pair adds the event at pos, which the validator placed, to its session.
func (b *Builder) pair(pos int, at place) {
	h := b.h
	e := &h.Events[pos]
	switch {
	case e.F == Died && e.Process >= 0:
		for _, s := range b.alive[e.Client] {
			s.DiedAt = pos
		}
		delete(b.alive, e.Client)
	case at.session < 0:
		h.told.add(pos, e) // of the nemesis or a probe; a last read of the resource is neither
	case e.F == Lost:
		s := h.Sessions[at.session]
		s.Lost = append(s.Lost, pos)
	case e.Type == Invoke && e.F == Acquire:
		s := b.session(e, pos)
		h.Sessions = append(h.Sessions, s)
		b.alive[e.Client] = append(b.alive[e.Client], s)
	case e.Type == Invoke:
		s := h.Sessions[at.session]
		s.Ops = append(s.Ops, Op{F: e.F, Invoke: pos, Return: -1})
	default:
		op := &h.Sessions[at.session].Acquire
		if at.op >= 0 {
			op = &h.Sessions[at.session].Ops[at.op]
		}
		op.Return = pos
		switch e.Type {
		case OK:
			op.Outcome = Done
		case Fail:
			op.Outcome = Failed
		}
	}
}

func (b *Builder) session(e *Event, pos int) *Session {
	s := &Session{
		Name: e.Session, Place: len(b.h.Sessions), Process: e.Process, Client: e.Client, Mode: e.Mode,
		Owner: cmp.Or(e.Owner, e.Session), Permits: e.permits(), DiedAt: -1,
		Acquire: Op{F: Acquire, Invoke: pos, Return: -1},
	}
	if e.Key != "" {
		b.ask(s, e.Key)
	}
	b.ask(s, e.Keys...)
	return s
}

// ask adds the keys that a session has not asked for yet, and numbers them.
func (b *Builder) ask(s *Session, names ...string) {
	h := b.h
	for _, name := range names {
		at, known := b.keyAt[name]
		if !known {
			at = len(h.Keys)
			b.keyAt[name] = at
			h.Keys, b.askedBy = append(h.Keys, name), append(b.askedBy, nil)
		}
		if b.askedBy[at] != s {
			b.askedBy[at] = s
			s.Keys, s.KeyAt = append(s.Keys, name), append(s.KeyAt, at)
		}
	}
}
