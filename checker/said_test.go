package checker

import (
	"time"

	"lockbench/internal/history"
)

// said is the fact of a probe in a drawn history; at most one kind of fact is set. Only the two functions below know how an
// event stores facts.
type said struct {
	quiet   string // begins or ends
	queued  []string
	kept    string // the session whose grant a server keeps for ttl
	ttl     time.Duration
	looked  bool // the probe looked for remaining keys
	left    []string
	ending  []string
	counted bool // the number of commands of a client is known
	client  int32
	sent    int
	stepped time.Duration
	master  string
}

// probe returns the event with the fact. The zero value gives an event without facts.
func probe(s said) history.Event {
	e := history.Event{Process: history.Probe, Type: history.Info, F: history.FProbe}
	say := func(f history.Fact) { e = history.Probed(f) }
	switch {
	case s.quiet != "":
		say(history.Quiet(s.quiet))
	case s.queued != nil:
		say(history.Queued{Sessions: s.queued})
	case s.kept != "":
		say(history.Kept{Session: s.kept, TTL: &s.ttl})
	case s.looked:
		say(history.Left{Names: s.left, Ending: s.ending})
	case s.counted:
		say(history.Sent{Client: s.client, Commands: s.sent})
	case s.stepped != 0:
		say(history.ClockStep{By: s.stepped})
	case s.master != "":
		say(history.Promoted{Node: s.master})
	}
	return e
}

// heard returns the fact of an event. It is the inverse of [probe].
func heard(e *history.Event) (s said) {
	if e.Process != history.Probe {
		return s
	}
	switch f := e.Facts; {
	case f == nil:
	case f.Quiet != "":
		s.quiet = string(f.Quiet)
	case f.Queued != nil:
		s.queued = f.Sessions
	case f.Kept != nil:
		s.kept, s.ttl = f.Session, *f.TTL
	case f.Left != nil:
		s.looked, s.left, s.ending = true, f.Names, f.Ending
	case f.Sent != nil:
		s.counted, s.client, s.sent = true, f.Client, f.Commands
	case f.ClockStep != nil:
		s.stepped = f.By
	case f.Promoted != nil:
		s.master = f.Promoted.Node
	}
	return s
}
