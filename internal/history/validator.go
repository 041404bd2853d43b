package history

import (
	"cmp"
	"fmt"
	"time"

	"lockbench/locks"
)

// validator holds events to the rules of the format, one by one and in their
// order. The reader and the recorder share it. After its first error it is of no
// further use.
//
// What it knows of a session, from its acquire on:
//
//	invoked ──ok──▶ granted    everything may be done under it
//	   │ ├──fail──▶ refused    nothing may: there is no tenure
//	   │ └──info──▶ doubtful   only release, which cleans up what may be held
//	   └─died─────▶ as doubtful: no client is left that the answer could reach
//
// And of a process: it has at most one operation outstanding; once one of its
// operations has ended in info, it acquires no more.
type validator struct {
	count     int // events so far
	line      int // of the event before
	index     int
	time      time.Duration
	fenced    bool
	permits   int
	processes map[Process]*process
	sessions  map[string]*session
	owners    map[string]call // retired ones, and by what
	deaths    map[int32]int   // line of each client's last death
	last      place
}

// place says where the event just added belongs: the session by its number, from
// 0 in the order of acquires, or -1; and the operation under it, or -1 for the acquire.
type place struct{ session, op int }

// call is an operation that was invoked.
type call struct {
	f       string
	session string
	line    int
}

type process struct {
	open     call // the operation without a return; its line is 0 if there is none
	at       place
	under    *session // of the operation that is open, if it has one
	done     call     // the operation that returned last
	doneLine int      // and the line of its return
	retired  call     // the first of unknown outcome; its line is 0 if there is none
	unknown  int      // and the line that said so
}

type session struct {
	number  int
	client  int32
	name    string
	keys    locked
	owner   string
	acquire int // line
	end     int // line of the acquire's return, or 0
	state   Type
	ops     int
}

// newValidator is one for the events after a header that is right.
func newValidator(h *Header) *validator {
	return &validator{
		line: 1, index: -1,
		fenced:    h.Model.Has(Fenced),
		permits:   max(1, h.Permits),
		processes: make(map[Process]*process),
		sessions:  make(map[string]*session),
		owners:    make(map[string]call),
		deaths:    make(map[int32]int),
	}
}

// add takes the next event, which stands in a line of the file.
func (v *validator) add(e *Event, line int) *Malformed {
	v.last = place{-1, -1}
	if m := v.checkOrder(e, line); m != nil {
		return m
	}
	if m := checkForm(e, line); m != nil {
		return m
	}
	v.count++
	v.line, v.index, v.time = line, e.Index, e.Time

	switch {
	case e.Process < 0:
		return nil
	case e.F == Died:
		v.deaths[e.Client] = line
		return nil
	case e.F == Lost:
		return v.lost(e, line)
	case e.Type == Invoke:
		return v.invoke(e, line)
	default:
		return v.returned(e, line)
	}
}

func (v *validator) checkOrder(e *Event, line int) *Malformed {
	if e.Index < 0 {
		return Malform(line, "negative", "index is %d; expected 0 or more", e.Index)
	}
	if e.Time < 0 {
		return Malform(line, "negative", "time is %d; expected 0 or more nanoseconds since the run began", e.Time)
	}
	if e.Index <= v.index {
		return Malform(line, "index", "index %d comes after index %d (line %d); expected a greater one on every line", e.Index, v.index, v.line)
	}
	if e.Time < v.time {
		return Malform(line, "time", "time goes back to %d from %d (line %d); expected one monotonic clock, read in the order of the lines", e.Time, v.time, v.line)
	}
	return nil
}

func (v *validator) invoke(e *Event, line int) *Malformed {
	p := v.processes[e.Process]
	if p == nil {
		p = new(process)
		v.processes[e.Process] = p
	}
	if p.open.line != 0 {
		return Malform(line, "outstanding", "%s %s, but its %s%s (line %d) has not returned; expected that one's ok, fail or info first, or another process",
			who(e), v.what(e), p.open.f, p.open.under(), p.open.line)
	}
	var s *session
	var m *Malformed
	switch {
	case e.F == Acquire:
		s, m = v.acquire(p, e, line)
	case e.Session == "" && e.F == FRead:
		// The last look at a resource, after everything is healed.
	default:
		s, m = v.use(e, line)
	}
	if m != nil {
		return m
	}
	p.open, p.at, p.under = call{e.F, e.Session, line}, v.last, s
	return nil
}

func (v *validator) acquire(p *process, e *Event, line int) (*session, *Malformed) {
	if s := v.sessions[e.Session]; s != nil {
		return nil, Malform(line, "session-twice", "%s acquires %s, but that session was acquired before (line %d); expected a name of its own for every attempt", who(e), label(e), s.acquire)
	}
	if p.retired.line != 0 {
		return nil, Malform(line, "retired", "%s acquires %s, but the outcome of its %s%s (line %d) is unknown since line %d; expected that its client goes on under a process number never used before",
			who(e), label(e), p.retired.f, p.retired.under(), p.retired.line, p.unknown)
	}
	owner, permits := cmp.Or(e.Owner, e.Session), e.permits()
	if c, ok := v.owners[owner]; ok {
		return nil, Malform(line, "retired", "%s acquires %s as owner %q, but the outcome of that owner's %s%s (line %d) is unknown; expected an owner never used before",
			who(e), label(e), owner, c.f, c.under(), c.line)
	}
	if permits > v.permits {
		return nil, Malform(line, "permits", "%s acquires %s with %d permits; expected no more than the header's %d", who(e), label(e), permits, v.permits)
	}
	s := &session{number: len(v.sessions), client: e.Client, name: e.Session, keys: keysOf(e), owner: owner, acquire: line, state: Invoke}
	v.sessions[s.name] = s
	v.last = place{s.number, -1}
	return s, nil
}

// use places an operation under a session, if it may be done there now.
func (v *validator) use(e *Event, line int) (*session, *Malformed) {
	s := v.sessions[e.Session]
	switch {
	case s == nil:
		return nil, Malform(line, "not-acquired", "%s %s, which nobody has acquired; expected the invocation of its acquire before", who(e), v.what(e))
	case s.state == Fail:
		return nil, Malform(line, "refused", "%s %s, but its acquire (line %d) failed (line %d); expected nothing more of that session", who(e), v.what(e), s.acquire, s.end)
	case s.state == OK:
	case e.F != Release:
		return nil, Malform(line, "not-granted", "%s %s, but its acquire (line %d) %s; expected its ok before", who(e), v.what(e), s.acquire, s.standing())
	case s.state == Invoke && v.deaths[s.client] < s.acquire:
		// A release that overtakes its own acquire would be done by a client that
		// does not wait for itself; if no client will answer any more, info says so.
		return nil, Malform(line, "not-granted", "%s %s, before its acquire (line %d) returned; expected ok or info of the acquire before", who(e), v.what(e), s.acquire)
	}
	v.last = place{s.number, s.ops}
	s.ops++
	return s, nil
}

func (v *validator) returned(e *Event, line int) *Malformed {
	p := v.processes[e.Process]
	switch {
	case p == nil || p.open.line == 0 && (p.done.f != e.F || p.done.session != e.Session):
		return Malform(line, "not-invoked", "%s has %s of %s%s that it did not invoke; expected the invocation before", who(e), e.Type, article(e.F), under(e.Session))
	case p.open.line == 0:
		return Malform(line, "not-invoked", "%s has a second return, %s, of its %s%s (line %d), which returned before (line %d); expected one return", who(e), e.Type, e.F, under(e.Session), p.done.line, p.doneLine)
	case p.open.f != e.F || p.open.session != e.Session:
		return Malform(line, "not-invoked", "%s has %s of %s%s that it did not invoke; expected the return of its %s%s (line %d)", who(e), e.Type, article(e.F), under(e.Session), p.open.f, p.open.under(), p.open.line)
	}
	s := p.under
	if e.F == Acquire {
		if e.Type == OK && v.fenced && e.Token == nil {
			return Malform(line, "token", "%s acquired %s without a token; expected one, because the model is fenced; a lock without tokens has a model without that word", who(e), s.label())
		}
		s.state, s.end = e.Type, line
	}
	if e.Type == Info {
		if p.retired.line == 0 {
			p.retired, p.unknown = p.open, line
		}
		if s != nil {
			v.owners[s.owner] = p.open
		}
	}
	v.last = p.at
	p.done, p.doneLine = p.open, line
	p.open, p.under = call{}, nil
	return nil
}

// lost places a notice. It may stand anywhere after the acquire's invocation: the
// client's answer and its notice can overtake each other on their way to the host.
func (v *validator) lost(e *Event, line int) *Malformed {
	s := v.sessions[e.Session]
	switch {
	case s == nil:
		return Malform(line, "not-acquired", "%s %s, which nobody has acquired; expected the invocation of its acquire before", who(e), v.what(e))
	case s.state == Fail:
		return Malform(line, "refused", "%s %s, but its acquire (line %d) failed (line %d); expected nothing more of that session", who(e), v.what(e), s.acquire, s.end)
	}
	v.last = place{s.number, -1}
	return nil
}

func (s *session) standing() string {
	if s.state == Info {
		return fmt.Sprintf("is of unknown outcome (line %d)", s.end)
	}
	return "has not returned"
}

func (c call) under() string { return under(c.session) }

func under(session string) string {
	if session == "" {
		return ""
	}
	return " of session " + session
}

// who names the client, and the process where that is another number.
func who(e *Event) string {
	if int32(e.Process) == e.Client {
		return fmt.Sprintf("client %d", e.Client)
	}
	return fmt.Sprintf("client %d (process %d)", e.Client, e.Process)
}

func article(f string) string {
	if f == Acquire {
		return "an " + f
	}
	return "a " + f
}

// subject says what an event is about, before it is known to be in order.
func subject(e *Event) string {
	switch {
	case e.Process == Probe:
		return "the probe"
	case e.Process == Nemesis:
		return fmt.Sprintf("the nemesis's %q", e.F)
	}
	return fmt.Sprintf("%s's %s%s", who(e), e.F, under(e.Session))
}

var verbs = map[string]string{
	Acquire: "acquires", Release: "releases", Renew: "renews", Check: "checks",
	FRead: "reads under", Write: "writes under", Lost: "is told of the loss of",
}

// what says what an operation does, and under which session of which lock.
func (v *validator) what(e *Event) string {
	verb := verbs[e.F]
	if s := v.sessions[e.Session]; s != nil {
		return verb + " " + s.label()
	}
	if e.F == Acquire {
		return verb + " " + label(e)
	}
	if e.Session == "" {
		return "does " + article(e.F)
	}
	return verb + " session " + e.Session
}

// locked is what a session asked for. It is put in words for messages alone: there are
// as many sessions as there are attempts.
type locked struct {
	key  string
	more []string // several
	mode locks.Mode
}

func keysOf(e *Event) locked {
	return locked{key: e.Key, more: e.Keys, mode: e.Mode}
}

// label names a session as messages do: session 3.17 of lock "a".
func label(e *Event) string { return keysOf(e).label(e.Session) }

func (s *session) label() string { return s.keys.label(s.name) }

func (k locked) label(session string) string {
	keys := fmt.Sprintf("lock %q", k.key)
	if len(k.more) > 0 {
		keys = fmt.Sprintf("locks %q", k.more)
	}
	if k.mode == locks.Shared {
		keys += ", shared"
	}
	return "session " + session + " of " + keys
}
