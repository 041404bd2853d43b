// Package proof derives from the definitions which violations the clients of a lock can prove. Each rule examines all
// sessions and all positions without regard to cost.
//
// It proves too little rather than too much: never a violation of a correct lock, and only some violations of an incorrect
// lock. So the checkers must find everything that it proves. It shares no code with the checkers, not even the reader
// of histories.
package proof

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// history is a history in the notation of the golden files.
type history struct {
	header struct {
		Model  words
		Claims struct{ Fair, Renewed, Session bool }
	}
	events   []event
	sessions []*session
}

// words is a list of words, or a single word without brackets.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		*w = words{word}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// event is a line. Positions count from 0.
type event struct {
	time  time.Duration
	who   string // c1, c1/7, nemesis, probe
	what  string // acquire, ok, died, a fault
	phase string // of a fault
	error string
	field map[string]string
}

func (e event) has(name string) bool { return e.field[name] != "" }

// span parses a field with a duration.
func (e event) span(name string) time.Duration {
	if n, err := strconv.ParseInt(e.field[name], 10, 64); err == nil {
		return time.Duration(n)
	}
	d, err := time.ParseDuration(e.field[name])
	if err != nil {
		return 0
	}
	return d
}

func (e event) number(name string) int64 {
	n, err := strconv.ParseInt(e.field[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// The outcomes of an operation.
const (
	maybe outcome = iota
	done
	failed
)

type outcome uint8

// op is one operation: the positions of its invocation and of its return, or -1.
type op struct {
	what         string
	call, answer int
	outcome      outcome
}

// session is one acquire and the operations under it.
type session struct {
	name    string
	client  string
	owner   string
	keys    []string
	shared  bool
	acquire op
	ops     []op
	lost    int // position of the first notice, or -1
	died    int // position of its client's death, or -1
}

// read parses a history, which the checkers' reader has accepted.
func read(text string) (*history, error) {
	r := reader{history: &history{}, latest: map[string]*session{}, named: map[string]*session{}, attempts: map[string]int{}, open: map[string]*op{}}
	text, _, _ = strings.Cut(text, "----\n")
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		first, rest, _ := strings.Cut(line, " ")
		var err error
		switch first {
		case "", "release", "search":
		case "header":
			err = json.Unmarshal([]byte(rest), &r.header)
		default:
			err = r.line(strings.Fields(line))
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	// The return of an operation is known only at the end, so operations are copied to their sessions here.
	for _, s := range r.sessions {
		s.acquire = *r.acquires[s]
		for _, o := range r.ops[s] {
			s.ops = append(s.ops, *o)
		}
	}
	return r.history, nil
}

type reader struct {
	*history
	latest   map[string]*session // by client
	named    map[string]*session
	attempts map[string]int // by client
	open     map[string]*op // by process
	acquires map[*session]*op
	ops      map[*session][]*op
}

func (r *reader) line(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("too short")
	}
	seconds, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return err
	}
	e := event{time: time.Duration(seconds*1e6+0.5) * time.Microsecond, who: words[1], field: map[string]string{}}
	for i, word := range words[2:] {
		name, value, isField := strings.Cut(word, "=")
		switch {
		case isField:
			e.field[name] = value
		case e.who == "nemesis" && i == 1:
			e.phase = word
		case i == 0:
			e.what = word
		case e.what == "acquire":
			e.field["keys"] = word
		default:
			e.error = word
		}
	}
	r.events = append(r.events, e)
	if strings.HasPrefix(e.who, "c") {
		return r.operation(e, len(r.events)-1)
	}
	return nil
}

// operation adds a call or a return.
func (r *reader) operation(e event, at int) error {
	client, _, _ := strings.Cut(e.who, "/")
	s := r.latest[client]
	if name := e.field["session"]; name != "" {
		s = r.named[name] // nil for the final read of a resource
	}
	switch e.what {
	case "ok", "fail", "info":
		o := r.open[e.who]
		if o == nil {
			return fmt.Errorf("a return without an invocation")
		}
		o.answer = at
		o.outcome = map[string]outcome{"ok": done, "fail": failed}[e.what]
		if e.has("unconfirmed") {
			o.outcome = maybe // it proves as little as no answer
		}
		delete(r.open, e.who)
		return nil
	case "died":
		for _, s := range r.sessions {
			if s.client == client && s.died < 0 {
				s.died = at
			}
		}
		return nil
	case "lost":
		if s.lost < 0 {
			s.lost = at
		}
		return nil
	}
	o := &op{what: e.what, call: at, answer: -1}
	r.open[e.who] = o
	switch {
	case e.what == "acquire":
		r.acquire(e, client, o)
	case s != nil:
		r.ops[s] = append(r.ops[s], o)
	}
	return nil
}

func (r *reader) acquire(e event, client string, o *op) {
	if r.acquires == nil {
		r.acquires, r.ops = map[*session]*op{}, map[*session][]*op{}
	}
	r.attempts[client]++
	s := &session{
		name: fmt.Sprintf("%s.%d", client[1:], r.attempts[client]), client: client, owner: e.field["owner"],
		keys: strings.Split(e.field["keys"], ","), shared: e.field["mode"] == "shared",
		lost: -1, died: -1,
	}
	if e.has("key") {
		s.keys = []string{e.field["key"]}
	}
	if s.owner == "" {
		s.owner = s.name
	}
	r.latest[client], r.named[s.name], r.acquires[s] = s, s, o
	r.sessions = append(r.sessions, s)
}
