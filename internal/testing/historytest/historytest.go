// Package historytest writes histories by hand, for the tests of what reads them.
package historytest

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"lockbench/internal/history"
)

// Script writes a history by hand, one call for each operation, in the order in
// which things happen. Times are milliseconds.
type Script struct {
	t      *testing.T
	header history.Header
	events []history.Event
}

// New begins the history of a lock behind sentinels.
func New(t *testing.T, lock string) *Script {
	return &Script{t: t, header: history.Header{Lock: lock, Topology: "sentinel"}}
}

// MS is a time in milliseconds.
func MS(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Add adds an event that no other method has a word for, and returns its position.
func (s *Script) Add(e history.Event) int {
	e.Index = len(s.events)
	s.events = append(s.events, e)
	return e.Index
}

// Call adds an invocation by client c; the process has the client's number.
func (s *Script) Call(at, c int, f, session string, with ...func(*history.Event)) int {
	return s.Event(at, c, history.Invoke, f, session, with...)
}

// Event adds what client c says, and returns its position.
func (s *Script) Event(at, c int, typ history.Type, f, session string, with ...func(*history.Event)) int {
	e := history.Event{Time: MS(at), Process: history.Process(c), Client: int32(c), Type: typ, F: f, Session: session}
	for _, w := range with {
		w(&e)
	}
	return s.Add(e)
}

// Key, TTL, Until, Failed and Value say more of an event.
func Key(k string) func(*history.Event) { return func(e *history.Event) { e.Key = k } }
func TTL(msec int) func(*history.Event) { return func(e *history.Event) { e.TTL = MS(msec) } }
func Until(msec int) func(*history.Event) {
	return func(e *history.Event) { e.Until = new(MS(msec)) }
}
func Failed(why string) func(*history.Event) { return func(e *history.Event) { e.Error = why } }
func Value(v int64, resource string) func(*history.Event) {
	return func(e *history.Event) { e.Value, e.Resource = &v, resource }
}

// Granted is an acquire of one key with a lease of 8 s that took a millisecond; it
// returns the position of the grant.
func (s *Script) Granted(at, c int, session, k string) int {
	s.Call(at, c, history.Acquire, session, Key(k), TTL(8000))
	return s.Event(at+1, c, history.OK, history.Acquire, session, Until(8000))
}

// Refused is an acquire that was told that the lock is taken.
func (s *Script) Refused(at, c int, session, k string) {
	s.Call(at, c, history.Acquire, session, Key(k), TTL(8000))
	s.Event(at+1, c, history.Fail, history.Acquire, session, Failed(history.ErrorTaken))
}

// Checks is a check that was answered well.
func (s *Script) Checks(at, c int, session string) {
	s.Call(at, c, history.Check, session)
	s.Event(at+1, c, history.OK, history.Check, session)
}

// Reads is a read of the plain counter.
func (s *Script) Reads(at, c int, session string, v int64) {
	s.Call(at, c, history.FRead, session, func(e *history.Event) { e.Resource = history.Plain })
	s.Event(at+1, c, history.OK, history.FRead, session, Value(v, history.Plain))
}

// Writes is a write of the plain counter; it returns the position of its effect.
func (s *Script) Writes(at, c int, session string, v int64) int {
	s.Call(at, c, history.Write, session, Value(v, history.Plain))
	return s.Event(at+1, c, history.OK, history.Write, session, Value(v, history.Plain))
}

// Releases is a release that was answered well.
func (s *Script) Releases(at, c int, session string) {
	s.Call(at, c, history.Release, session)
	s.Event(at+1, c, history.OK, history.Release, session)
}

// Nemesis is a phase of a fault.
func (s *Script) Nemesis(at, step int, fault, phase, text string, targets ...string) {
	s.Add(history.Event{Time: MS(at), Process: history.Nemesis, Type: history.Info, F: fault,
		Step: step, Phase: phase, Text: text, Targets: targets})
}

// Probe is what the run itself has seen.
func (s *Script) Probe(at int, f history.Fact) {
	e := history.Probed(f)
	e.Time = MS(at)
	s.Add(e)
}

// Work is a whole hold: granted, one read, one write, released.
func (s *Script) Work(at, c int, session, k string, from int64) {
	s.Granted(at, c, session, k)
	s.Reads(at+2, c, session, from)
	s.Writes(at+4, c, session, from+1)
	s.Releases(at+6, c, session)
}

// History is what was written so far.
func (s *Script) History() *history.History {
	s.t.Helper()
	h, err := history.Build(s.header, s.events)
	if err != nil {
		s.t.Fatalf("the script is malformed: %v", err)
	}
	return h
}

// Encode returns a history as JSON lines, with the indexes of its events.
func Encode(h *history.History) ([]byte, error) {
	var lines bytes.Buffer
	err := json.NewEncoder(&lines).Encode(&h.Header)
	text := lines.Bytes()
	for pos := 0; pos < len(h.Events) && err == nil; pos++ {
		text, err = history.AppendEvent(text, &h.Events[pos])
	}
	return text, err
}
