package jepsen

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Stray is a release that was answered with ok though its process held nothing, so
// that there is no session to place it in. A lock with owners cannot answer so.
type Stray struct {
	Line, Index int
	Process     history.Process
	Time        time.Duration
}

// Lock reads the operations as those of a lock with owners and makes sessions of them:
//
//	:acquire, :lock     begins a session, the process's own
//	:release, :unlock   ends the latest session of its process that is still held
//	others              are left out, with a warning
//
// A value [key v], or a map with :key, names the lock; otherwise there is one. What a
// release that failed says, nobody knows: Jepsen's clients put everything there that
// is sure not to have happened. So it is no claim that nothing was held.
func (j *History) Lock(model history.Model, permits int) (*history.History, []Stray, error) {
	b, err := history.NewBuilder(history.Header{Lockbench: history.Version, Model: model, Permits: permits}, len(j.Ops))
	if err != nil {
		return nil, nil, err
	}
	c := lockReader{
		b: b, model: model,
		holds: map[int64][]session{}, keys: map[string]bool{}, open: map[int64]outstanding{}, left: map[string]int{},
	}
	for i := range j.Ops {
		if err := c.op(&j.Ops[i]); err != nil {
			return nil, nil, err
		}
	}
	if !c.acquires {
		return nil, nil, history.Malform(j.Ops[0].Line, "f", "nobody acquires or locks anything here; found are %s. Expected a history of a lock, or a model with --model", j.operations())
	}
	h := c.b.Done()
	h.Torn, h.Warnings = j.Torn, append(slices.Clone(j.Warnings), c.warnings()...)
	return h, c.strays, nil
}

// operations lists what is done.
func (j *History) operations() string {
	var fs []string
	for _, op := range j.Ops {
		if !op.Nemesis && !slices.Contains(fs, op.F) && len(fs) < 8 {
			fs = append(fs, op.F)
		}
	}
	return strings.Join(fs, ", ")
}

type lockReader struct {
	b        *history.Builder
	model    history.Model
	time     time.Duration
	holds    map[int64][]session // by process, the latest last
	keys     map[string]bool     // that were acquired
	attempts int
	open     map[int64]outstanding
	strays   []Stray
	dropped  int            // releases of nothing that were not ok
	numbers  int            // acquires whose value was a number
	named    int            // acquires that name a lock
	nameless int            // acquires without a value
	left     map[string]int // operations that no lock has
	acquires bool
}

type session struct {
	name, key string
	granted   bool
	released  bool
}

// outstanding is what a process has outstanding.
type outstanding struct {
	f       string // as recorded
	what    string // history.Acquire, history.Release, or nothing
	session string // empty for a release that nobody's session is behind
	line    int
}

// words are what the operations of lock tests are called.
var words = map[string]string{
	"acquire": history.Acquire, "lock": history.Acquire, "try-acquire": history.Acquire, "try-lock": history.Acquire, "tryLock": history.Acquire,
	"read-lock": history.Acquire, "write-lock": history.Acquire, "acquire-read": history.Acquire, "acquire-write": history.Acquire, "acquire-shared": history.Acquire,
	"release": history.Release, "unlock": history.Release, "read-unlock": history.Release, "write-unlock": history.Release, "release-read": history.Release, "release-write": history.Release, "release-shared": history.Release,
}

func (c *lockReader) op(op *Op) error {
	// Recorded times can go back, and nothing here rests on them.
	c.time = max(c.time, time.Duration(op.Time))
	if op.Nemesis {
		return c.add(op, history.Event{Process: history.Nemesis, Type: history.Info, F: op.F, Extra: &history.Extra{Text: nemesisText(op.Value())}})
	}
	open, outstanding := c.open[op.Process]
	who := fmt.Sprintf("process %d", op.Process)
	if op.Type == history.Invoke {
		if outstanding {
			return history.Malform(op.Line, "outstanding", "%s invokes %s, but its %s (line %d) has not completed; expected that one's completion first", who, op.F, open.f, open.line)
		}
		return c.invoke(op)
	}
	if !outstanding {
		return history.Malform(op.Line, "not-invoked", "%s completes %s with %s and did not invoke it; expected the invocation before", who, op.F, op.Type)
	}
	if open.f != op.F {
		return history.Malform(op.Line, "not-invoked", "%s completes %s with %s and did not invoke it; expected the completion of its %s (line %d)", who, op.F, op.Type, open.f, open.line)
	}
	delete(c.open, op.Process)
	return c.complete(op, open)
}

func (c *lockReader) invoke(op *Op) error {
	open := outstanding{f: op.F, what: words[op.F], line: op.Line}
	e := history.Event{Process: history.Process(op.Process), Client: int32(op.Process), Type: history.Invoke, F: open.what}
	switch open.what {
	case history.Acquire:
		c.acquires = true
		c.attempts++
		open.session = fmt.Sprintf("%d.%d", op.Process, c.attempts)
		e.Session, e.Key = open.session, c.key(op)
		if strings.Contains(op.F, "read") || strings.Contains(op.F, "shared") {
			e.Mode = locks.Shared
		}
		if mode, ok := op.Value().field("mode"); ok {
			if word, _ := mode.bare().word(); word == "shared" || word == "read" {
				e.Mode = locks.Shared
			}
		}
		if err := c.acquire(op, &e); err != nil {
			return err
		}
		c.keys[e.Key] = true
		if v := op.Value().bare(); v.Kind == Nil {
			c.nameless++
		} else if e.Key != theLock {
			c.named++
		}
		c.holds[op.Process] = append(stillHeld(c.holds[op.Process]), session{name: open.session, key: e.Key})
	case history.Release:
		if s := c.toRelease(op); s != nil {
			open.session, s.released = s.name, true
			e.Session = s.name
		}
	default:
		c.left[op.F]++
	}
	c.open[op.Process] = open
	if e.Session == "" {
		return nil
	}
	return c.add(op, e)
}

// stillHeld leaves out what was released, but for the latest, which may be released again.
func stillHeld(all []session) []session {
	kept := all[:0]
	for i, s := range all {
		if !s.released || i == len(all)-1 {
			kept = append(kept, s)
		}
	}
	return kept
}

// acquire fills in what the model needs.
func (c *lockReader) acquire(op *Op, e *history.Event) error {
	more := &history.Extra{}
	if c.model.Has(history.Reentrant) {
		more.Owner = fmt.Sprintf("process %d", op.Process)
		e.Extra = more
	}
	if !c.model.Has(history.Semaphore) {
		return nil
	}
	n := op.Value().bare()
	if permits, ok := op.Value().field("permits"); ok {
		n = permits.bare()
	}
	switch {
	case n.Kind != Int:
	case n.Int < 1 || n.Int > math.MaxInt32:
		return history.Malform(op.Line, "permits", "process %d acquires %d permits; expected 1 or more", op.Process, n.Int)
	default:
		more.Permits = int(n.Int)
		e.Extra = more
	}
	return nil
}

// key is the name of the lock that an operation is about.
func (c *lockReader) key(op *Op) string {
	v := op.Value().bare()
	if named, ok := v.field("key", "lock", "name"); ok {
		return plainText(named)
	}
	switch {
	case v.Kind == Vector && len(v.Items) == 2: // as jepsen.independent has it
		return plainText(v.Items[0])
	case v.Kind == String || v.Kind == Keyword || v.Kind == Symbol:
		return plainText(v)
	case v.Kind == Int && !c.model.Has(history.Semaphore):
		c.numbers++
	}
	return theLock
}

// theLock is the name of the one lock of a history that names none.
const theLock = "lock"

func plainText(v Value) string {
	if word, ok := v.bare().word(); ok && word != "" {
		return word
	}
	return v.String()
}

// toRelease is the session that a process gives back: the latest that it holds, else
// the latest that it held, else none.
func (c *lockReader) toRelease(op *Op) *session {
	all := c.holds[op.Process]
	key := ""
	if v := op.Value().bare(); v.Kind != Nil && v.Kind != Int {
		key = c.key(op)
	}
	// A value that names no lock that was acquired here is about something else.
	if !c.keys[key] {
		key = ""
	}
	var last *session
	for i := len(all) - 1; i >= 0; i-- {
		s := &all[i]
		if !s.granted || key != "" && s.key != key {
			continue
		}
		if !s.released {
			return s
		}
		if last == nil {
			last = s
		}
	}
	return last
}

func (c *lockReader) complete(op *Op, open outstanding) error {
	if open.session == "" {
		if open.what == history.Release && op.Type == history.OK {
			c.strays = append(c.strays, Stray{op.Line, op.Index, history.Process(op.Process), c.time})
		} else if open.what == history.Release {
			c.dropped++
		}
		return nil
	}
	e := history.Event{Process: history.Process(op.Process), Client: int32(op.Process), Type: op.Type, F: open.what, Session: open.session, Error: op.Error}
	if e.Error == history.ErrorNotHeld {
		e.Error = "not held" // a text of the test's own, and no claim
	}
	all := c.holds[op.Process]
	if open.what == history.Acquire && op.Type != history.OK {
		c.holds[op.Process] = all[:len(all)-1]
	}
	if open.what == history.Acquire && op.Type == history.OK {
		all[len(all)-1].granted = true
		if c.model.Has(history.Fenced) {
			c.token(op, &e)
		}
	}
	return c.add(op, e)
}

// token finds the fencing token that came with a grant.
func (c *lockReader) token(op *Op, e *history.Event) {
	v := op.Value().bare()
	if v.Kind == Vector && len(v.Items) == 2 {
		v = v.Items[1].bare()
	}
	if named, ok := v.field("token", "fence", "fencing-token", "revision"); ok {
		v = named.bare()
	}
	if v.Kind == Int && v.Int >= 0 {
		e.Token, e.HasToken = uint64(v.Int), true
	}
}

// add holds an event to the rules and pairs it. Its line is that of the file it is from.
func (c *lockReader) add(op *Op, e history.Event) error {
	e.Index, e.Time = op.Index, c.time
	return c.b.Add(e, op.Line)
}

// warnings say what was left out, and how names were taken.
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

// nemesisText is what a fault says of itself, kept short.
func nemesisText(v Value) string {
	if v.Kind == Nil {
		return ""
	}
	const most = 200
	text := plainText(v)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
