package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"time"
)

// Fact is a mark of the run, or an observation of servers or of the machine. A probe event has facts, at most one of
// each of the kinds below.
type Fact interface{ fact() }

// Episode says that an episode begins.
type Episode struct{ Number int }

// Quiet says that a recovery period begins or ends. In it every fault is undone, and every
// lock must be granted again.
type Quiet struct{ Begins bool }

// Promoted says that a node became leader.
type Promoted struct {
	Node    string // empty: there is no leader
	Ordered bool   // a fault of the plan had ordered it
}

// ClockStep says that the machine's wall clock moved against its monotonic one.
type ClockStep struct{ By time.Duration }

// Kept says how much longer a server keeps the lock of a session.
type Kept struct {
	Node, Session string
	TTL           time.Duration
}

// Left lists the locks that servers still keep after every client is gone. Without names, there are none.
type Left struct {
	Names  []string // for longer than any lease
	Ending []string // those of them that will expire
}

// Queued says that sessions were seen in the lock's queue.
type Queued struct{ Sessions []string }

// Sent says how many commands a client has sent so far.
type Sent struct {
	Client   int32
	Commands int
}

func (Episode) fact()   {}
func (Quiet) fact()     {}
func (Promoted) fact()  {}
func (ClockStep) fact() {}
func (Kept) fact()      {}
func (Left) fact()      {}
func (Queued) fact()    {}
func (Sent) fact()      {}

// Probed returns the event that records a fact.
func Probed(f Fact) Event {
	return Event{Process: Probe, Type: Info, F: FProbe, Facts: []Fact{f}}
}

// FactsOf returns the facts of one kind in order, each with the position of its event.
func FactsOf[F Fact](h *History) iter.Seq2[int, F] {
	return func(yield func(int, F) bool) {
		for _, p := range h.facts {
			if f, ok := p.fact.(F); ok && !yield(p.at, f) {
				return
			}
		}
	}
}

// wireFacts are the facts of an event as one object, sorted by name, so that equal events are equal lines:
//
//	Episode    {"episode":2}
//	Quiet      {"quiet":"begins"}, {"quiet":"ends"}
//	Promoted   {"master":"redis-2","ordered":false}
//	ClockStep  {"clock_step_ns":2000000}
//	Kept       {"node":"redis-1","session":"1.7","ttl":3000000000}
//	Left       {"ending":["b"],"left":["a","b"]}
//	Queued     {"queued":["1.7"]}
//	Sent       {"client":4,"commands":11}
//
// Other programs write histories, too, so reading is lenient: an object may hold several facts, and fields with an
// unknown name or with a value that they cannot have are ignored.
type wireFacts struct {
	Client    any `json:"client,omitempty"`
	ClockStep any `json:"clock_step_ns,omitempty"`
	Commands  any `json:"commands,omitempty"`
	Ending    any `json:"ending,omitempty"`
	Episode   any `json:"episode,omitempty"`
	Left      any `json:"left,omitempty"`
	Master    any `json:"master,omitempty"`
	Node      any `json:"node,omitempty"`
	Ordered   any `json:"ordered,omitempty"`
	Queued    any `json:"queued,omitempty"`
	Quiet     any `json:"quiet,omitempty"`
	Session   any `json:"session,omitempty"`
	TTL       any `json:"ttl,omitempty"`
}

const (
	quietBegins = "begins"
	quietEnds   = "ends"
)

// facts are the facts of an event as a line has them.
type facts []Fact

// MarshalJSON fails if two facts are of one kind, because an object has each field once.
func (all facts) MarshalJSON() ([]byte, error) {
	var w wireFacts
	for i, f := range all {
		for _, other := range all[:i] {
			if reflect.TypeOf(f) == reflect.TypeOf(other) {
				return nil, fmt.Errorf("there are two facts of type %T; expected at most one fact of a kind in an event", f)
			}
		}
		switch f := f.(type) {
		case Episode:
			w.Episode = f.Number
		case Quiet:
			w.Quiet = quietEnds
			if f.Begins {
				w.Quiet = quietBegins
			}
		case Promoted:
			w.Master, w.Ordered = f.Node, f.Ordered
		case ClockStep:
			w.ClockStep = int64(f.By)
		case Kept:
			w.Node, w.Session, w.TTL = f.Node, f.Session, int64(f.TTL)
		case Left:
			w.Ending, w.Left = list(f.Ending), list(f.Names)
		case Queued:
			w.Queued = list(f.Sessions)
		case Sent:
			w.Client, w.Commands = f.Client, f.Commands
		default:
			return nil, fmt.Errorf("fact of type %T is not known; expected one of package history", f)
		}
	}
	return appendLine(nil, &w)
}

// list is written as a list also if it is nil: null would say that nothing was looked at.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// absent marks fields whose presence alone says something.
type absent struct{}

// UnmarshalJSON keeps numbers as json.Number: nanoseconds are longer than a float64's 53 bits.
func (all *facts) UnmarshalJSON(data []byte) error {
	w := wireFacts{Master: absent{}, ClockStep: absent{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&w)
	*all = w.facts()
	return err
}

func (w *wireFacts) facts() []Fact {
	var all []Fact
	if n, ok := wholeNumber(w.Episode); ok {
		all = append(all, Episode{int(n)})
	}
	switch w.Quiet {
	case quietBegins:
		all = append(all, Quiet{Begins: true})
	case quietEnds:
		all = append(all, Quiet{})
	}
	// A role has changed, or a clock was stepped, if the field is there, whatever its value: the judge is careful
	// from there on.
	if w.Master != (absent{}) {
		node, _ := w.Master.(string)
		ordered, _ := w.Ordered.(bool)
		all = append(all, Promoted{node, ordered})
	}
	if w.ClockStep != (absent{}) {
		by, _ := wholeNumber(w.ClockStep)
		all = append(all, ClockStep{time.Duration(by)})
	}
	if ttl, ok := wholeNumber(w.TTL); ok {
		node, _ := w.Node.(string)
		session, _ := w.Session.(string)
		all = append(all, Kept{node, session, time.Duration(ttl)})
	}
	if w.Left != nil { // the program that wrote the field has looked, whatever it saw
		names, _ := texts(w.Left)
		ending, _ := texts(w.Ending)
		all = append(all, Left{names, ending})
	}
	if sessions, ok := texts(w.Queued); ok {
		all = append(all, Queued{sessions})
	}
	client, known := wholeNumber(w.Client)
	commands, ok := wholeNumber(w.Commands)
	if known && ok && client == int64(int32(client)) { // no client has another number
		all = append(all, Sent{int32(client), int(commands)})
	}
	return all
}

func wholeNumber(v any) (int64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	return parseWhole(string(number))
}

// texts reads a list of names. A single name need not stand in a list, and other values in a list are ignored.
func texts(v any) (names []string, ok bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []any:
		for _, item := range v {
			if name, ok := item.(string); ok {
				names = append(names, name)
			}
		}
		return names, true
	}
	return nil, false
}
