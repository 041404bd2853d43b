package bench

import (
	"fmt"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

// script writes a history in the order in which things happen, one event a millisecond.
type script struct {
	header history.Header
	events []history.Event
	now    time.Duration
}

// add appends an event and returns it, for what else is to be said of it. It is good
// until the next one is added.
func (s *script) add(e history.Event) *history.Event {
	s.now += time.Millisecond
	e.Index, e.Time = len(s.events), s.now
	s.events = append(s.events, e)
	return &s.events[e.Index]
}

// say adds what a client says in an operation. Its process has the client's number.
func (s *script) say(client int, typ history.Type, f, session string) *history.Event {
	return s.add(history.Event{Process: history.Process(client), Client: int32(client), Type: typ, F: f, Session: session})
}

// ask invokes an acquire.
func (s *script) ask(client int, session, key string, ttl, wait time.Duration) *history.Event {
	e := s.say(client, history.Invoke, history.Acquire, session)
	e.Key, e.TTL, e.Wait = key, ttl, wait
	return e
}

// granted answers an acquire; a lease runs from the acquire's call for until.
func (s *script) granted(client int, session string, until time.Duration) *history.Event {
	e := s.say(client, history.OK, history.Acquire, session)
	if until > 0 {
		e.Until = &until
	}
	return e
}

// take is an acquire that is granted at once.
func (s *script) take(client int, session, key string, ttl time.Duration) *history.Event {
	s.ask(client, session, key, ttl, 0)
	return s.granted(client, session, ttl)
}

// refused is a try that claims that another client held.
func (s *script) refused(client int, session, key string) {
	s.ask(client, session, key, 0, 0)
	e := s.say(client, history.Fail, history.Acquire, session)
	e.Error, e.Strict = history.ErrorTaken, true
}

// done is an operation that is answered with ok.
func (s *script) done(client int, f, session string) {
	s.say(client, history.Invoke, f, session)
	s.say(client, history.OK, f, session)
}

// notHeld is an operation that is refused because its session does not hold.
func (s *script) notHeld(client int, f, session string) {
	s.say(client, history.Invoke, f, session)
	s.say(client, history.Fail, f, session).Error = history.ErrorNotHeld
}

// counts reads and writes the plain counter of a session's key.
func (s *script) counts(client int, session string, value int64) {
	s.say(client, history.Invoke, history.FRead, session).Resource = history.Plain
	e := s.say(client, history.OK, history.FRead, session)
	e.Resource, e.Value = history.Plain, new(value)
	s.writes(client, session, value+1)
	s.say(client, history.OK, history.Write, session)
}

// writes asks for a write and does not answer it.
func (s *script) writes(client int, session string, value int64) {
	e := s.say(client, history.Invoke, history.Write, session)
	e.Resource, e.Value = history.Plain, new(value)
}

// probe adds what was observed.
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

// lines is the history as a file.
func (s *script) lines() ([]byte, error) {
	h, err := history.Build(s.header, s.events)
	if err != nil {
		return nil, fmt.Errorf("build a history of %d events: %w", len(s.events), err)
	}
	return historytest.Encode(h)
}
