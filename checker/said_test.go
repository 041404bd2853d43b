package checker

import (
	"time"

	"lockbench/internal/history"
)

// said is what a probe of a drawn history says: at most one of these things. The two
// functions below are all that knows how a probe carries it.
type said struct {
	quiet   string // begins or ends
	queued  []string
	kept    string // the session of which a server was asked; ttl is what it said
	ttl     time.Duration
	looked  bool // what is left was looked for
	left    []string
	ending  []string
	counted bool // the commands of a client
	client  int32
	sent    int
	stepped time.Duration
	master  string
}

// probe is the event that says it. The zero value says nothing at all.
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

// heard reads what [probe] has written.
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
