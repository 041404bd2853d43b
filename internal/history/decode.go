package history

import (
	"math"
	"time"

	"lockbench/locks"
)

// given says which of an event's fields stood in its line, where absence means
// something other than 0.
type given struct{ index, time, process, client bool }

// decoder turns lines into events.
type decoder struct {
	s scanner
}

func newDecoder() *decoder {
	return &decoder{scanner{names: make(map[string]string)}}
}

// event decodes one line. Fields that are not known are skipped, and null is as
// good as nothing. The rule that an error breaks stands in the scanner.
func (d *decoder) event(line []byte, e *Event) (g given, err error) {
	s := &d.s
	s.reset(line)
	s.take('{', "an event, as an object in braces")
	for first := true; s.more(&first, '}'); {
		name := s.name()
		if s.null() {
			continue
		}
		switch string(name) {
		case "index":
			e.Index, g.index = int(s.int64()), true
		case "time":
			e.Time, g.time = s.duration(), true
		case "process":
			e.Process, g.process = s.process(), true
		case "client":
			e.Client, g.client = s.int32(), true
		case "type":
			e.Type = s.typ()
		case "f":
			e.F = s.string()
		case "session":
			e.Session = s.string()
		case "key":
			e.Key = s.string()
		case "mode":
			e.Mode = s.mode()
		case "ttl":
			e.TTL = s.duration()
		case "wait":
			e.Wait = s.duration()
		case "until":
			e.Until, e.HasUntil = s.duration(), true
		case "strict":
			e.Strict = s.bool()
		case "token":
			n, negative := s.unsigned()
			if negative && n > 0 {
				s.breaks("negative", "token is -%d; expected 0 or more", n)
			}
			e.Token, e.HasToken = n, true
		case "resource":
			e.Resource = s.string()
		case "error":
			e.Error = s.string()
		case "value":
			if s.peek() == '"' {
				if text := s.string(); text != "" {
					e.extra().Text = text
				}
			} else {
				e.Value, e.HasValue = s.int64(), true
			}
		case "permits":
			n := s.int64()
			if n < 1 {
				s.breaks("permits", "permits is %d; expected 1 or more", n)
			}
			e.extra().Permits = int(n)
		default:
			d.rare(name, e)
		}
	}
	s.end()
	return g, s.err
}

// rare decodes the fields that few events have, and skips those that none has.
// One that says no more than its absence does leaves the event without Extra.
func (d *decoder) rare(name []byte, e *Event) {
	s := &d.s
	switch string(name) {
	case "owner":
		if v := s.string(); v != "" {
			e.extra().Owner = v
		}
	case "keys":
		if v := s.strings(); len(v) > 0 {
			e.extra().Keys = v
		}
	case "node":
		if v := s.string(); v != "" {
			e.extra().Node = v
		}
	case "lease":
		if v := s.duration(); v != 0 {
			e.extra().Lease = v
		}
	case "renewed":
		if s.bool() {
			e.extra().Renewed = true
		}
	case "step":
		if v := s.int64(); v != 0 {
			e.extra().Step = int(v)
		}
	case "targets":
		if v := s.strings(); len(v) > 0 {
			e.extra().Targets = v
		}
	case "phase":
		if v := s.string(); v != "" {
			e.extra().Phase = v
		}
	case "facts":
		if v := s.facts(); len(v) > 0 {
			e.extra().Facts = v
		}
	default:
		s.raw()
	}
}

func (e *Event) extra() *Extra {
	if e.Extra == nil {
		e.Extra = new(Extra)
	}
	return e.Extra
}

func (s *scanner) duration() time.Duration { return time.Duration(s.int64()) }

func (s *scanner) int32() int32 {
	n := s.int64()
	if n < math.MinInt32 || n > math.MaxInt32 {
		s.fail("the number before column %d is too large", s.pos+1)
	}
	return int32(n)
}

func (s *scanner) process() Process {
	if s.peek() != '"' {
		n := s.int32()
		if n < 0 {
			// On the wire -1 is no other way to say "nemesis".
			s.breaks("negative", "process is %d; expected 0 or more, \"nemesis\" or \"probe\"", n)
		}
		return Process(n)
	}
	switch text := s.string(); text {
	case "nemesis":
		return Nemesis
	case "probe":
		return Probe
	default:
		s.breaks("word", "process %q is not known; expected a whole number, \"nemesis\" or \"probe\"", text)
		return 0
	}
}

func (s *scanner) typ() Type {
	content, plain := s.quoted()
	if s.err != nil {
		return 0
	}
	switch string(content) {
	case "invoke":
		return Invoke
	case "ok":
		return OK
	case "fail":
		return Fail
	case "info":
		return Info
	}
	text := string(content)
	if !plain {
		text = s.unquote(content)
	}
	for t, word := range typeWords { // written with escapes, then
		if t > 0 && word == text {
			return Type(t)
		}
	}
	s.breaks("word", "the type %q is not known; expected invoke, ok, fail or info", text)
	return 0
}

func (s *scanner) mode() locks.Mode {
	text := s.string()
	switch text {
	case "shared":
		return locks.Shared
	case "exclusive", "":
	default:
		s.breaks("word", "the mode %q is not known; expected exclusive or shared", text)
	}
	return locks.Exclusive
}
