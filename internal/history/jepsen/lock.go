package jepsen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Stray is a release that was answered with ok though its process held nothing, so that it
// belongs to no session. A lock with owners cannot answer so.
type Stray struct {
	Line, Index int
	Process     history.Process
	Time        time.Duration
}

// theLock is the name of the one lock of a history that names none.
const theLock = "lock"

// words are the names of operations in lock tests.
var words = map[string]struct {
	f    string
	mode locks.Mode
}{
	"acquire": {f: history.Acquire}, "try-acquire": {f: history.Acquire}, "acquire-write": {f: history.Acquire},
	"lock": {f: history.Acquire}, "try-lock": {f: history.Acquire}, "tryLock": {f: history.Acquire}, "write-lock": {f: history.Acquire},
	"acquire-read": {history.Acquire, locks.Shared}, "acquire-shared": {history.Acquire, locks.Shared}, "read-lock": {history.Acquire, locks.Shared},
	"release": {f: history.Release}, "release-read": {f: history.Release}, "release-write": {f: history.Release}, "release-shared": {f: history.Release},
	"unlock": {f: history.Release}, "read-unlock": {f: history.Release}, "write-unlock": {f: history.Release},
}

// Lock reads the operations as those of a lock with owners and makes sessions of them:
//
//	:acquire, :lock     begins a session of its process
//	:release, :unlock   ends the latest session that its process holds
//	others              are left out, with a warning
//
// A value [key v], or a map with :key, names the lock; otherwise there is one. A release that
// failed does not claim that nothing was held: Jepsen's clients answer fail to everything that
// certainly did not happen.
//
// If any process may release the lock, sessions cannot tell whose hold such a release ended. So
// a release by a process that holds nothing is then refused, unless it failed.
func (j *History) Lock(model history.Model, anyReleases bool) (*history.History, []Stray, error) {
	c := lockReader{model: model, anyReleases: anyReleases, processes: map[int64]*process{}, keys: map[string]bool{}, left: map[string]int{}}
	for i := range j.Ops {
		if err := c.op(&j.Ops[i]); err != nil {
			return nil, nil, err
		}
	}
	if c.attempts == 0 {
		return nil, nil, history.Malform(j.Ops[0].Line, "f", "lockbench judges locks only, and no operation here acquires a lock; found are %s, expected acquire and release, or lock and unlock", j.operations())
	}
	if line := c.openStray(); line > 0 {
		return nil, nil, c.refuse(line)
	}
	h, err := history.Build(history.Header{Model: model}, c.events, c.lines...)
	if err != nil {
		return nil, nil, err
	}
	h.Torn, h.Warnings = j.Torn, append(slices.Clone(j.Warnings), c.warnings()...)
	return h, c.strays, nil
}

// operations lists the first few operations of clients.
func (j *History) operations() string {
	var fs []string
	for _, op := range j.Ops {
		if !op.Nemesis && !slices.Contains(fs, op.F) && len(fs) < 8 {
			fs = append(fs, op.F)
		}
	}
	return cmp.Or(strings.Join(fs, ", "), "those of the nemesis")
}

// lockReader makes sessions of operations.
type lockReader struct {
	events      []history.Event
	lines       []int // of the file, by event
	model       history.Model
	anyReleases bool
	time        time.Duration // of the last operation
	processes   map[int64]*process
	keys        map[string]bool // that were acquired
	attempts    int
	strays      []Stray

	// Counted for the warnings.
	dropped  int            // releases by processes that held nothing, not answered with ok
	numbers  int            // acquires whose value is a number
	named    int            // acquires that name a lock
	nameless int            // acquires without a value
	left     map[string]int // other operations
}

// process is a process of the test, with the operation that it has outstanding.
type process struct {
	holds   []session // the latest last
	invoked string    // the operation as recorded, or empty
	line    int       // of the invocation
	f       string    // history.Acquire, history.Release, or empty for another
	session *session  // of holds, that the operation belongs to, or nil
}

type session struct {
	name, key string
	granted   bool
	releasing bool // a release was invoked
	released  bool // and answered with ok
}

func (c *lockReader) op(op *Op) error {
	c.time = max(c.time, time.Duration(op.Time)) // recorded times may go back
	if op.Nemesis {
		return c.add(op, history.Event{Process: history.Nemesis, Type: history.Info, F: op.F, Text: nemesisText(op.Value)})
	}
	p := c.processes[op.Process]
	if p == nil {
		p = &process{}
		c.processes[op.Process] = p
	}
	if op.Type == history.Invoke {
		if p.invoked != "" {
			return history.Malform(op.Line, "outstanding", "process %d invokes %s, but its %s (line %d) has not completed; expected that one's completion first", op.Process, op.F, p.invoked, p.line)
		}
		return c.invoke(op, p)
	}
	if p.invoked != op.F {
		expected := "the invocation before"
		if p.invoked != "" {
			expected = fmt.Sprintf("the completion of its %s (line %d)", p.invoked, p.line)
		}
		return history.Malform(op.Line, "not-invoked", "process %d completes %s with %s and did not invoke it; expected %s", op.Process, op.F, op.Type, expected)
	}
	p.invoked = ""
	return c.complete(op, p)
}

func (c *lockReader) invoke(op *Op, p *process) error {
	p.invoked, p.line, p.f, p.session = op.F, op.Line, words[op.F].f, nil
	switch p.f {
	case history.Acquire:
		return c.acquire(op, p)
	case history.Release:
		s := c.toRelease(op, p)
		if s == nil || c.anyReleases && s.released {
			return nil
		}
		p.session, s.releasing = s, true
		return c.add(op, event(op, p))
	}
	c.left[op.F]++
	return nil
}

func (c *lockReader) acquire(op *Op, p *process) error {
	c.attempts++
	// Only the latest released session may be released again.
	last := len(p.holds) - 1
	kept := p.holds[:0]
	for i, s := range p.holds {
		if !s.releasing || i == last {
			kept = append(kept, s)
		}
	}
	p.holds = append(kept, session{name: fmt.Sprintf("%d.%d", op.Process, c.attempts), key: c.key(op)})
	p.session = &p.holds[len(kept)]
	c.keys[p.session.key] = true
	e := event(op, p)
	e.Key, e.Mode = p.session.key, words[op.F].mode
	switch {
	case e.Key != theLock:
		c.named++
	case op.Value.IsNil():
		c.nameless++
	case op.Value.Kind == Number:
		c.numbers++
	}
	if mode, ok := op.Value.field("mode"); ok {
		if word, _ := mode.word(); word == "shared" || word == "read" {
			e.Mode = locks.Shared
		}
	}
	if c.model.Has(history.Reentrant) {
		e.Owner = fmt.Sprintf("process %d", op.Process)
	}
	return c.add(op, e)
}

// key returns the name of the lock that an operation is about.
func (c *lockReader) key(op *Op) string {
	v := op.Value
	if named, ok := v.field("key", "lock", "name"); ok {
		return plainText(named)
	}
	if v.pair() {
		return plainText(v.Items[0])
	}
	if _, ok := v.word(); ok {
		return plainText(v)
	}
	return theLock
}

func plainText(v Value) string {
	if word, ok := v.word(); ok && word != "" {
		return word
	}
	return v.String()
}

// toRelease returns the session that a process releases: the latest that it holds, else the
// latest that it held, else nil.
func (c *lockReader) toRelease(op *Op, p *process) *session {
	key := c.key(op)
	// A value that names no lock that was acquired is about something else.
	any := op.Value.IsNil() || op.Value.Kind == Number || !c.keys[key]
	var last *session
	for i := len(p.holds) - 1; i >= 0; i-- {
		s := &p.holds[i]
		if !s.granted || !any && s.key != key {
			continue
		}
		if !s.releasing {
			return s
		}
		if last == nil {
			last = s
		}
	}
	return last
}

func (c *lockReader) complete(op *Op, p *process) error {
	switch {
	case p.session != nil:
	case p.f != history.Release:
		return nil
	case op.Type != history.Fail && c.anyReleases:
		return c.refuse(op.Line)
	case op.Type == history.OK:
		c.strays = append(c.strays, Stray{op.Line, op.Index, history.Process(op.Process), c.time})
		return nil
	default:
		c.dropped++
		return nil
	}
	e := event(op, p)
	e.Error = op.Error
	if e.Error == history.ErrorNotHeld {
		e.Error = "not held" // the test's own text, which claims nothing
	}
	switch {
	case p.f == history.Release:
		p.session.released = p.session.released || op.Type == history.OK
	case op.Type == history.OK:
		p.session.granted = true
		e.Token = c.token(op)
	default:
		p.holds = p.holds[:len(p.holds)-1]
	}
	return c.add(op, e)
}

// refuse returns the error for a release that may have ended the hold of another process.
func (c *lockReader) refuse(line int) error {
	return history.Malform(line, "release", "a process releases the lock without holding it, and the release did not fail; lockbench judges only locks that their holder releases (--model owner-mutex reports such a release)")
}

// openStray returns the first line of a release without a session that did not complete, if any
// process may release the lock, else 0.
func (c *lockReader) openStray() (line int) {
	for _, p := range c.processes {
		if c.anyReleases && p.invoked != "" && p.f == history.Release && p.session == nil && (line == 0 || p.line < line) {
			line = p.line
		}
	}
	return line
}

// token returns the fencing token that came with a grant, or nil.
func (c *lockReader) token(op *Op) *uint64 {
	v := op.Value
	if v.pair() {
		v = v.Items[1]
	}
	if named, ok := v.field("token", "fence", "fencing-token", "revision"); ok {
		v = named
	}
	n, ok := v.whole()
	if !ok || n < 0 || !c.model.Has(history.Fenced) {
		return nil
	}
	return new(uint64(n))
}

// event returns the event of an operation that belongs to a session.
func event(op *Op, p *process) history.Event {
	return history.Event{Process: history.Process(op.Process), Client: int32(op.Process), Type: op.Type, F: p.f, Session: p.session.name}
}

func (c *lockReader) add(op *Op, e history.Event) error {
	e.Index, e.Time = op.Index, c.time
	c.events, c.lines = append(c.events, e), append(c.lines, op.Line)
	return nil
}

// warnings say which operations were left out, and how names were read.
func (c *lockReader) warnings() (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(c.left) > 0 {
		var fs []string
		for f, n := range c.left {
			fs = append(fs, fmt.Sprintf("%d of %s", n, f))
		}
		slices.Sort(fs)
		say("operations that no lock has were left out: %s", strings.Join(fs, ", "))
	}
	if c.dropped > 0 {
		say("%d releases by processes that held nothing were left out: they were not ok, and change nothing", c.dropped)
	}
	if c.numbers > 0 {
		say("%d acquires have a number for a value, which was not taken for the name of a lock; {:key 7} would be one", c.numbers)
	}
	if c.named > 0 && c.nameless > 0 {
		say("%d acquires name a lock with their value and %d have no value: those were taken for a lock of its own, %q, which excludes none of the others", c.named, c.nameless, theLock)
	}
	return all
}

// nemesisText returns what a fault did, kept short.
func nemesisText(v Value) string {
	if v.IsNil() {
		return ""
	}
	const most = 200
	text := plainText(v)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
