package bench

import (
	"fmt"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

// script writes a history with one event in each millisecond.
type script struct {
	header history.Header
	events []history.Event
	now    time.Duration
}

// add appends an event and returns it, so that the caller can set fields. The pointer is valid until the next call.
func (s *script) add(e history.Event) *history.Event {
	s.now += time.Millisecond
	e.Index, e.Time = len(s.events), s.now
	s.events = append(s.events, e)
	return &s.events[e.Index]
}

// say adds an event of an operation. Its process has the number of the client.
func (s *script) say(client int, typ history.Type, f, session string) *history.Event {
	return s.add(history.Event{Process: history.Process(client), Client: int32(client), Type: typ, F: f, Session: session})
}

// ask adds the call of an acquire.
func (s *script) ask(client int, session, key string, ttl, wait time.Duration) *history.Event {
	e := s.say(client, history.Invoke, history.Acquire, session)
	e.Key, e.TTL, e.Wait = key, ttl, wait
	return e
}

// granted adds the ok of an acquire. Its lease lasts for until from the call.
func (s *script) granted(client int, session string, until time.Duration) *history.Event {
	e := s.say(client, history.OK, history.Acquire, session)
	if until > 0 {
		e.Until = &until
	}
	return e
}

// take adds an acquire that is granted at once.
func (s *script) take(client int, session, key string, ttl time.Duration) *history.Event {
	s.ask(client, session, key, ttl, 0)
	return s.granted(client, session, ttl)
}

// refused adds a strict refusal.
func (s *script) refused(client int, session, key string) {
	s.ask(client, session, key, 0, 0)
	e := s.say(client, history.Fail, history.Acquire, session)
	e.Error, e.Strict = history.ErrorTaken, true
}

// done adds an operation with ok.
func (s *script) done(client int, f, session string) {
	s.say(client, history.Invoke, f, session)
	s.say(client, history.OK, f, session)
}

// notHeld adds an operation that is answered "not held".
func (s *script) notHeld(client int, f, session string) {
	s.say(client, history.Invoke, f, session)
	s.say(client, history.Fail, f, session).Error = history.ErrorNotHeld
}

// counts adds a read and a write of the counter of a session's key.
func (s *script) counts(client int, session string, value int64) {
	s.say(client, history.Invoke, history.FRead, session).Resource = history.Plain
	e := s.say(client, history.OK, history.FRead, session)
	e.Resource, e.Value = history.Plain, new(value)
	s.writes(client, session, value+1)
	s.say(client, history.OK, history.Write, session)
}

// writes adds the call of a write without a return.
func (s *script) writes(client int, session string, value int64) {
	e := s.say(client, history.Invoke, history.Write, session)
	e.Resource, e.Value = history.Plain, new(value)
}

// probe adds an observation.
func (s *script) probe(f history.Fact) {
	e := history.Probed(f)
	e.Client = int32(history.Probe)
	s.add(e)
}

// fault adds a phase of a step of the plan.
func (s *script) fault(name, phase string, step int, target string) {
	s.add(history.Event{Process: history.Nemesis, Client: int32(history.Nemesis), Type: history.Info, F: name,
		Phase: phase, Step: step, Targets: []string{target}})
}

// lines returns the history as a file.
func (s *script) lines() ([]byte, error) {
	h, err := history.Build(s.header, s.events)
	if err != nil {
		return nil, fmt.Errorf("build a history of %d events: %w", len(s.events), err)
	}
	return historytest.Encode(h)
}
