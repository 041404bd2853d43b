package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// The facts of an event are one object on the wire. Its fields are sorted by name, so
// that equal events are equal lines:
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
// Other programs write histories, too, so reading is lenient: an object may hold several
// facts, and fields with an unknown name or with a value that they cannot have are left
// out.

// field is one of a fact's fields on the wire.
type field struct {
	name  string
	value any // int64, bool, string or []string
}

// fields are those of a fact, nil if it is of no known kind.
func fields(f Fact) []field {
	switch f := f.(type) {
	case Episode:
		return []field{{"episode", int64(f.Number)}}
	case Quiet:
		if f.Begins {
			return []field{{"quiet", quietBegins}}
		}
		return []field{{"quiet", quietEnds}}
	case Promoted:
		return []field{{"master", f.Node}, {"ordered", f.Ordered}}
	case ClockStep:
		return []field{{"clock_step_ns", int64(f.By)}}
	case Kept:
		return []field{{"node", f.Node}, {"session", f.Session}, {"ttl", int64(f.TTL)}}
	case Left:
		return []field{{"ending", f.Ending}, {"left", f.Names}}
	case Queued:
		return []field{{"queued", f.Sessions}}
	case Sent:
		return []field{{"client", int64(f.Client)}, {"commands", int64(f.Commands)}}
	}
	return nil
}

const (
	quietBegins = "begins"
	quietEnds   = "ends"
)

// appendFacts writes the facts of one event. It fails if two are of one kind, since an
// object has each field once.
func appendFacts(dst []byte, facts []Fact) ([]byte, error) {
	var all []field
	for _, f := range facts {
		of := fields(f)
		if of == nil {
			return dst, fmt.Errorf("fact of type %T is not known; expected one of package history", f)
		}
		all = append(all, of...)
	}
	slices.SortFunc(all, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, f := range all {
		if i > 0 {
			if f.name == all[i-1].name {
				return dst, fmt.Errorf("two facts have the field %q; expected at most one fact of a kind in an event", f.name)
			}
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, f.name), ':')
		var err error
		if dst, err = appendFactValue(dst, f.value); err != nil {
			return dst, fmt.Errorf("%q: %w", f.name, err)
		}
	}
	return append(dst, '}'), nil
}

func appendFactValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendString(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case []string:
		if v == nil {
			v = []string{} // written as a list: null says that nobody looked
		}
		// Not appendString: histories have always had encoding/json's escapes in lists.
		text, err := json.Marshal(v)
		return append(dst, text...), err
	}
	return dst, fmt.Errorf("a %T has no place in a fact", v)
}

// facts decodes a probe's object.
func (s *scanner) facts() []Fact {
	if s.err == nil && s.peek() != '{' {
		s.unexpected("an object of facts")
	}
	raw := s.raw()
	if s.err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // nanoseconds are longer than a float64's 53 bits
	var o object
	if err := d.Decode(&o); err != nil {
		s.fail("facts before column %d: %v", s.pos+1, err)
		return nil
	}
	return o.facts()
}

// object is a probe's, with numbers as json.Number.
type object map[string]any

func (o object) facts() []Fact {
	var all []Fact
	if n, ok := wholeNumber(o["episode"]); ok {
		all = append(all, Episode{int(n)})
	}
	switch o["quiet"] {
	case quietBegins:
		all = append(all, Quiet{Begins: true})
	case quietEnds:
		all = append(all, Quiet{})
	}
	// That the role changed, or a clock was stepped, is told by the field being there:
	// what is judged with care from there on must not depend on how its value is written.
	if v, ok := o["master"]; ok {
		node, _ := v.(string)
		ordered, _ := o["ordered"].(bool)
		all = append(all, Promoted{node, ordered})
	}
	if v, ok := o["clock_step_ns"]; ok {
		by, _ := wholeNumber(v)
		all = append(all, ClockStep{time.Duration(by)})
	}
	if ttl, ok := wholeNumber(o["ttl"]); ok {
		node, _ := o["node"].(string)
		session, _ := o["session"].(string)
		all = append(all, Kept{node, session, time.Duration(ttl)})
	}
	// Whoever wrote the field has looked, whatever is in it.
	if v := o["left"]; v != nil {
		names, _ := texts(v)
		ending, _ := texts(o["ending"])
		all = append(all, Left{names, ending})
	}
	if sessions, ok := texts(o["queued"]); ok {
		all = append(all, Queued{sessions})
	}
	client, known := wholeNumber(o["client"])
	commands, ok := wholeNumber(o["commands"])
	if known && ok && client == int64(int32(client)) { // others are no client's
		all = append(all, Sent{int32(client), int(commands)})
	}
	return all
}

// wholeNumber reads a number. Other programs may write 5e9 or 5.0 for a whole one.
func wholeNumber(v any) (int64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := number.Int64(); err == nil {
		return n, true
	}
	f, err := number.Float64()
	if err != nil || f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// texts reads a list of names. One name need not stand in a list, and what is no name in
// a list is left out.
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
