package history

import (
	"cmp"
	"fmt"
	"time"
)

// pairing checks events against the rules of the format, one by one and in their order, and makes sessions of them. The
// reader and the recorder share it. It cannot be used after its first error.
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
type pairing struct {
	h         *History // without its events
	count     int      // events so far
	line      int      // of the event before
	index     int
	time      time.Duration
	processes map[Process]*process
	sessions  map[string]*Session
	owners    map[string]call      // retired ones, and by what
	alive     map[int32][]*Session // by client: sessions whose client has not died since
	keys      map[string]*asked
}

type process struct {
	open    call // the operation without a return
	retired call // the first operation of unknown outcome
	unknown int  // the line that said so
}

// call is an operation that was invoked.
type call struct {
	f       string
	session *Session // nil for a read of the resource after the last session
	op      int      // in the operations of the session, or -1 for its acquire
	line    int      // 0: there is no such operation
}

func (c call) String() string { return fmt.Sprintf("%s (line %d)", operation(c.f, c.name()), c.line) }

func (c call) name() string {
	if c.session == nil {
		return ""
	}
	return c.session.Name
}

// asked is a key that sessions asked for.
type asked struct {
	at int      // in History.Keys
	by *Session // the last one
}

// newPairing returns a pairing for the events after a header. It refuses a wrong header.
func newPairing(h *History) (*pairing, *Malformed) {
	return &pairing{
		h: h, line: 1, index: -1,
		processes: make(map[Process]*process),
		sessions:  make(map[string]*Session),
		owners:    make(map[string]call),
		alive:     make(map[int32][]*Session),
		keys:      make(map[string]*asked),
	}, h.Header.check()
}

// add takes the next event, which stands in a line of the file.
func (p *pairing) add(e *Event, line int) *Malformed {
	if m := p.checkOrder(e, line); m != nil {
		return m
	}
	if m := checkForm(e, line); m != nil {
		return m
	}
	pos := p.count
	p.count++
	p.line, p.index, p.time = line, e.Index, e.Time

	switch {
	case e.Process < 0:
		p.h.collect(pos, e)
	case e.F == Died:
		for _, s := range p.alive[e.Client] {
			s.DiedAt = pos
		}
		delete(p.alive, e.Client)
	case e.F == Lost:
		// A notice may stand anywhere after the acquire's invocation: the client's answer and its notice can overtake
		// each other on their way to the host.
		s, m := p.session(e, line)
		if m != nil {
			return m
		}
		s.Lost = append(s.Lost, pos)
	case e.Type == Invoke:
		return p.invoke(e, pos, line)
	default:
		return p.returned(e, pos, line)
	}
	return nil
}

func (p *pairing) checkOrder(e *Event, line int) *Malformed {
	if e.Index < 0 {
		return Malform(line, "negative", "index is %d; expected 0 or more", e.Index)
	}
	if e.Time < 0 {
		return Malform(line, "negative", "time is %d; expected 0 or more nanoseconds since the run began", e.Time)
	}
	if e.Index <= p.index {
		return Malform(line, "index", "index %d comes after index %d (line %d); expected a greater one on every line", e.Index, p.index, p.line)
	}
	if e.Time < p.time {
		return Malform(line, "time", "time goes back to %d from %d (line %d); expected one monotonic clock, read in the order of the lines", e.Time, p.time, p.line)
	}
	return nil
}

func (p *pairing) invoke(e *Event, pos, line int) *Malformed {
	by := p.processes[e.Process]
	if by == nil {
		by = new(process)
		p.processes[e.Process] = by
	}
	if by.open.line != 0 {
		return wrong(e, line, "outstanding", "is invoked before the process's %s has returned; expected its ok, fail or info first, or another process", by.open)
	}
	c := call{f: e.F, op: -1, line: line}
	var m *Malformed
	switch {
	case e.F == Acquire:
		c.session, m = p.acquire(by, e, pos, line)
	case e.Session != "":
		if c.session, m = p.usable(e, line); m == nil {
			c.op = len(c.session.Ops)
			c.session.Ops = append(c.session.Ops, Op{F: e.F, Invoke: pos, Return: -1})
		}
	}
	by.open = c
	return m
}

func (p *pairing) acquire(by *process, e *Event, pos, line int) (*Session, *Malformed) {
	owner := cmp.Or(e.Owner, e.Session)
	if s := p.sessions[e.Session]; s != nil {
		return nil, wrong(e, line, "session-twice", "is the second with that name (the first: line %d); expected a name of its own for every attempt", p.lineOf(s.Acquire.Invoke))
	}
	if by.retired.line != 0 {
		return nil, wrong(e, line, "retired", "follows the process's %s, whose outcome is unknown since line %d; expected that its client goes on under a process number never used before",
			by.retired, by.unknown)
	}
	if c, ok := p.owners[owner]; ok {
		return nil, wrong(e, line, "retired", "is by owner %q, but the outcome of that owner's %s is unknown; expected an owner never used before", owner, c)
	}
	s := &Session{
		Name: e.Session, Place: len(p.h.Sessions), Process: e.Process, Client: e.Client, Mode: e.Mode,
		Owner: owner, DiedAt: -1, Acquire: Op{F: Acquire, Invoke: pos, Return: -1},
	}
	if e.Key != "" {
		p.ask(s, e.Key)
	}
	for _, key := range e.Keys {
		p.ask(s, key)
	}
	p.sessions[s.Name] = s
	p.alive[s.Client] = append(p.alive[s.Client], s)
	p.h.Sessions = append(p.h.Sessions, s)
	return s, nil
}

// ask adds a key to a session that has not asked for it yet.
func (p *pairing) ask(s *Session, key string) {
	k := p.keys[key]
	if k == nil {
		k = &asked{at: len(p.h.Keys)}
		p.keys[key] = k
		p.h.Keys = append(p.h.Keys, key)
	}
	if k.by != s {
		k.by = s
		s.Keys, s.KeyAt = append(s.Keys, key), append(s.KeyAt, k.at)
	}
}

// session returns the session of an event, unless its acquire failed.
func (p *pairing) session(e *Event, line int) (*Session, *Malformed) {
	s := p.sessions[e.Session]
	if s == nil {
		return nil, wrong(e, line, "not-acquired", "belongs to a session without an acquire; expected the invocation of the acquire before")
	}
	if s.Acquire.Outcome == Failed {
		return nil, wrong(e, line, "refused", "comes after the session's acquire (line %d) failed (line %d); expected nothing more of that session",
			p.lineOf(s.Acquire.Invoke), p.lineOf(s.Acquire.Return))
	}
	return s, nil
}

// usable returns the session of an operation, if the operation may be done there now.
func (p *pairing) usable(e *Event, line int) (*Session, *Malformed) {
	s, m := p.session(e, line)
	if m != nil {
		return nil, m
	}
	// A release that overtakes its own acquire would be done by a client that does not wait
	// for itself. If the client is gone, no answer will come.
	mayClean := e.F == Release && (s.Acquire.Return >= 0 || s.DiedAt >= 0)
	if s.Acquire.Outcome != Done && !mayClean {
		return nil, wrong(e, line, "not-granted", "comes before the session's acquire (line %d) was granted; expected its ok before, or for a release its ok or info", p.lineOf(s.Acquire.Invoke))
	}
	return s, nil
}

func (p *pairing) returned(e *Event, pos, line int) *Malformed {
	by := p.processes[e.Process]
	if by == nil || by.open.line == 0 {
		return wrong(e, line, "not-invoked", "returns %s, but was not invoked or has returned before; expected one invocation and then one return", e.Type)
	}
	c := by.open
	if c.f != e.F || c.name() != e.Session {
		return wrong(e, line, "not-invoked", "returns %s, but was not invoked; expected the return of the process's %s", e.Type, c)
	}
	if e.F == Acquire && e.Type == OK && e.Token == nil && p.h.Header.Model.Has(Fenced) {
		return wrong(e, line, "token", "is granted without a token; expected one, because the model is fenced; a lock without tokens has a model without that word")
	}
	if e.Type == Info && by.retired.line == 0 {
		by.retired, by.unknown = c, line
	}
	by.open = call{}
	if c.session == nil {
		return nil
	}
	op := &c.session.Acquire
	if c.op >= 0 {
		op = &c.session.Ops[c.op]
	}
	op.Return = pos
	switch e.Type {
	case OK:
		op.Outcome = Done
		if e.Unconfirmed {
			op.Outcome = Unconfirmed
		}
	case Fail:
		op.Outcome = Failed
	case Info:
		p.owners[c.session.Owner] = c
	}
	return nil
}

// lineOf returns the line of the event at a position.
func (p *pairing) lineOf(pos int) int {
	if pos < len(p.h.Lines) {
		return p.h.Lines[pos]
	}
	return pos + 2 // the header is line 1
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
