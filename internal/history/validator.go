package history

import (
	"cmp"
	"fmt"
	"time"
)

// validator checks events against the rules of the format, one by one and in their
// order. The reader and the recorder share it. It cannot be used after its first error.
//
// The states of a session:
//
//	invoked ──ok──▶ granted    every operation is allowed
//	   │ ├──fail──▶ refused    no operation is allowed
//	   │ └──info──▶ doubtful   only release, which ends a possible hold
//	   └─died─────▶ as doubtful: the client cannot receive the answer any more
//
// A process has at most one operation outstanding. Once one of its operations has ended in
// info, it acquires no more.
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

// place is the place of the event that was added last: the number of its session, from 0 in
// the order of acquires, or -1; and the number of its operation, or -1 for the acquire.
type place struct{ session, op int }

// call is an operation that was invoked.
type call struct {
	f       string
	session string
	line    int // 0: there is no such operation
}

func (c call) String() string { return fmt.Sprintf("%s (line %d)", operation(c.f, c.session), c.line) }

type process struct {
	open    call // the operation without a return
	at      place
	under   *session // of the operation that is open, if it has one
	retired call     // the first operation of unknown outcome
	unknown int      // the line that said so
}

type session struct {
	number  int
	client  int32
	owner   string
	acquire int // line
	end     int // line of the acquire's return, or 0
	state   Type
	ops     int
}

// newValidator returns a validator for the events after a valid header.
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
		return wrong(e, line, "outstanding", "is invoked before the process's %s has returned; expected its ok, fail or info first, or another process", p.open)
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
	owner := cmp.Or(e.Owner, e.Session)
	if s := v.sessions[e.Session]; s != nil {
		return nil, wrong(e, line, "session-twice", "is the second with that name (the first: line %d); expected a name of its own for every attempt", s.acquire)
	}
	if p.retired.line != 0 {
		return nil, wrong(e, line, "retired", "follows the process's %s, whose outcome is unknown since line %d; expected that its client goes on under a process number never used before",
			p.retired, p.unknown)
	}
	if c, ok := v.owners[owner]; ok {
		return nil, wrong(e, line, "retired", "is by owner %q, but the outcome of that owner's %s is unknown; expected an owner never used before", owner, c)
	}
	if e.permits() > v.permits {
		return nil, wrong(e, line, "permits", "asks for %d permits; expected no more than the header's %d", e.permits(), v.permits)
	}
	s := &session{number: len(v.sessions), client: e.Client, owner: owner, acquire: line, state: Invoke}
	v.sessions[e.Session] = s
	v.last = place{s.number, -1}
	return s, nil
}

// session returns the session of an event, unless its acquire failed.
func (v *validator) session(e *Event, line int) (*session, *Malformed) {
	s := v.sessions[e.Session]
	if s == nil {
		return nil, wrong(e, line, "not-acquired", "belongs to a session without an acquire; expected the invocation of the acquire before")
	}
	if s.state == Fail {
		return nil, wrong(e, line, "refused", "comes after the session's acquire (line %d) failed (line %d); expected nothing more of that session", s.acquire, s.end)
	}
	return s, nil
}

// use places an operation under a session, if it may be done there now.
func (v *validator) use(e *Event, line int) (*session, *Malformed) {
	s, m := v.session(e, line)
	if m != nil {
		return nil, m
	}
	// A release that overtakes its own acquire would be done by a client that does not wait
	// for itself. If the client is gone, no answer will come.
	mayClean := e.F == Release && (s.state == Info || v.deaths[s.client] > s.acquire)
	if s.state != OK && !mayClean {
		return nil, wrong(e, line, "not-granted", "comes before the session's acquire (line %d) was granted; expected its ok before, or for a release its ok or info", s.acquire)
	}
	v.last = place{s.number, s.ops}
	s.ops++
	return s, nil
}

func (v *validator) returned(e *Event, line int) *Malformed {
	p := v.processes[e.Process]
	if p == nil || p.open.line == 0 {
		return wrong(e, line, "not-invoked", "returns %s, but was not invoked or has returned before; expected one invocation and then one return", e.Type)
	}
	if p.open.f != e.F || p.open.session != e.Session {
		return wrong(e, line, "not-invoked", "returns %s, but was not invoked; expected the return of the process's %s", e.Type, p.open)
	}
	s := p.under
	if e.F == Acquire {
		if e.Type == OK && v.fenced && e.Token == nil {
			return wrong(e, line, "token", "is granted without a token; expected one, because the model is fenced; a lock without tokens has a model without that word")
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
	p.open, p.under = call{}, nil
	return nil
}

// lost places a notice. It may stand anywhere after the acquire's invocation: the
// client's answer and its notice can overtake each other on their way to the host.
func (v *validator) lost(e *Event, line int) *Malformed {
	s, m := v.session(e, line)
	if m == nil {
		v.last = place{s.number, -1}
	}
	return m
}

// wrong makes the error of an event. The text goes on after the name of the event.
func wrong(e *Event, line int, rule, format string, args ...any) *Malformed {
	return Malform(line, rule, "%s "+format, append([]any{subject(e)}, args...)...)
}

// subject names an event.
func subject(e *Event) string {
	switch {
	case e.Process == Probe:
		return "the probe"
	case e.Process == Nemesis:
		return fmt.Sprintf("the nemesis's %q", e.F)
	case int32(e.Process) != e.Client:
		return fmt.Sprintf("client %d's %s (process %d)", e.Client, operation(e.F, e.Session), e.Process)
	}
	return fmt.Sprintf("client %d's %s", e.Client, operation(e.F, e.Session))
}

// operation names an operation of a session.
func operation(f, session string) string {
	if f == Lost {
		f = "notice of the loss"
	}
	if session == "" {
		return f
	}
	return f + " of session " + session
}
