package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wireLine is an event as a line of JSON, for both directions. It has the fields that a line expresses otherwise than an
// [Event] does.
type wireLine struct {
	Index   *int           `json:"index"`            // the position, from 0
	Time    *time.Duration `json:"time"`             // since the run began, monotonic
	Process *Process       `json:"process"`          // a thread of a client, or nemesis or probe
	Client  *int32         `json:"client,omitempty"` // the client of the process; absent: it has the process's number
	*Event
	Value *value `json:"value,omitempty"` // read ok, write: the number; nemesis: the fault in words
	Facts *Facts `json:"facts,omitempty"` // probe: the observations
	Error string `json:"error,omitempty"` // fail, info: taken, not-held, lost, stale-token, or a text
}

// AppendEvent writes an event as one line, with its newline. It writes every field that is set, whether or not the
// event's kind has it, so that reading gives back what was written.
func AppendEvent(dst []byte, e *Event) ([]byte, error) {
	if line, ok := appendClientEvent(dst, e); ok {
		return line, nil
	}
	return appendEvent(dst, e)
}

// appendEvent is AppendEvent for every event.
func appendEvent(dst []byte, e *Event) ([]byte, error) {
	l := wireLine{Index: &e.Index, Time: &e.Time, Process: &e.Process, Event: e, Facts: e.Facts, Error: e.Error}
	if e.Client != e.Process.client() {
		l.Client = &e.Client
	}
	if e.Value != nil || e.Text != "" {
		l.Value = &value{e.Value, e.Text}
	}
	return appendLine(dst, &l)
}

// appendClientEvent is AppendEvent for most events of clients, without reflection. It reports false for the others.
func appendClientEvent(dst []byte, e *Event) ([]byte, bool) {
	if e.Process < 0 || e.Type < Invoke || e.Type > Info || e.Mode != 0 || e.Keys != nil || e.Step != 0 || e.Targets != nil ||
		e.Phase != "" || e.Effect != nil || e.Op != "" || e.Request != 0 || e.Hold != 0 || e.Text != "" || e.Facts != nil {
		return dst, false
	}
	for _, text := range []string{e.F, e.Session, e.Key, e.Resource, e.Owner, e.Node, e.Error} {
		if !plainText(text) {
			return dst, false
		}
	}
	number := func(name string, n int64) {
		dst = strconv.AppendInt(append(dst, name...), n, 10)
	}
	some := func(name string, n int64) {
		if n != 0 {
			number(name, n)
		}
	}
	text := func(name, text string) {
		if text != "" {
			dst = append(append(append(dst, name...), text...), '"')
		}
	}
	yes := func(name string, is bool) {
		if is {
			dst = append(dst, name...)
		}
	}
	number(`{"index":`, int64(e.Index))
	number(`,"time":`, int64(e.Time))
	number(`,"process":`, int64(e.Process))
	if e.Client != e.Process.client() {
		number(`,"client":`, int64(e.Client))
	}
	text(`,"type":"`, e.Type.String())
	dst = append(append(append(dst, `,"f":"`...), e.F...), '"')
	text(`,"session":"`, e.Session)
	text(`,"key":"`, e.Key)
	some(`,"ttl":`, int64(e.TTL))
	some(`,"wait":`, int64(e.Wait))
	if e.Until != nil {
		number(`,"until":`, int64(*e.Until))
	}
	yes(`,"from_answer":true`, e.FromAnswer)
	yes(`,"strict":true`, e.Strict)
	yes(`,"unconfirmed":true`, e.Unconfirmed)
	if e.Token != nil {
		dst = strconv.AppendUint(append(dst, `,"token":`...), *e.Token, 10)
	}
	text(`,"resource":"`, e.Resource)
	text(`,"owner":"`, e.Owner)
	some(`,"lease":`, int64(e.Lease))
	yes(`,"renewed":true`, e.Renewed)
	some(`,"period":`, int64(e.Period))
	text(`,"node":"`, e.Node)
	if e.Value != nil {
		number(`,"value":`, *e.Value)
	}
	text(`,"error":"`, e.Error)
	return append(dst, '}', '\n'), true
}

// plainText reports whether a text is the same within a string of JSON.
func plainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendLine writes v as one line of JSON. Texts such as "master -> replicas" stay readable.
func appendLine(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return dst, err
	}
	return b.Bytes(), nil
}

// decodeEvent reads one line into an event that has nothing but the index and the time that are implied if the line
// does not have them. Fields that are not known are ignored, and null is the same as no field.
func decodeEvent(text []byte, number int, e *Event) *Malformed {
	l := wireLine{Index: &e.Index, Time: &e.Time, Event: e}
	err := json.Unmarshal(text, &l)
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		if plain := plainNumbers(text); plain != nil {
			err = json.Unmarshal(plain, &l)
		}
	}
	if err != nil {
		return lineError(text, number, err)
	}
	if l.Process == nil {
		return Malform(number, "process", "the event has no process; expected a whole number, \"nemesis\" or \"probe\"")
	}
	e.Process, e.Client, e.Facts, e.Error = *l.Process, l.Process.client(), l.Facts, l.Error
	if l.Client != nil {
		e.Client = *l.Client
	}
	if l.Value != nil {
		e.Value, e.Text = l.Value.number, l.Value.text
	}
	return nil
}

// lineError says what is wrong with a line that encoding/json refuses.
func lineError(text []byte, number int, err error) *Malformed {
	if m := (*Malformed)(nil); errors.As(err, &m) {
		m.Line = number
		return m
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		if kind.Field == "" {
			return Malform(number, "json", "the line is a JSON %s; expected an event, as an object in braces", kind.Value)
		}
		want := map[reflect.Kind]string{
			reflect.Int: "a whole number", reflect.Int32: "a whole number of 32 bits", reflect.Int64: "a whole number of 64 bits",
			reflect.Uint64: "a whole number of 64 bits that is 0 or more", reflect.String: "a text", reflect.Uint8: "a text",
			reflect.Bool: "true or false", reflect.Slice: "a list of texts", reflect.Struct: "an object",
		}[kind.Type.Kind()]
		return Malform(number, "json", "field %q is a JSON %s; expected %s", kind.Field[strings.LastIndexByte(kind.Field, '.')+1:], kind.Value, want)
	}
	var whole json.RawMessage
	if errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&whole), io.ErrUnexpectedEOF) {
		m := Malform(number, "json", "the line ends in the middle of its object; expected one whole object on every line")
		m.cutOff = true
		return m
	}
	return Malform(number, "json", "%v", err)
}

// plainNumbers writes the whole numbers of an object, also inside, as digits: other programs may write 5e9 or 5.0. It
// returns nil if there is no such number.
func plainNumbers(text []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	changed := false
	for name, field := range fields {
		if n, ok := parseWhole(string(field)); ok && bytes.ContainsAny(field, ".eE") {
			fields[name], changed = strconv.AppendInt(nil, n, 10), true
		} else if inner := plainNumbers(field); inner != nil {
			fields[name], changed = inner, true
		}
	}
	if !changed {
		return nil
	}
	plain, _ := json.Marshal(fields)
	return plain
}

// parseWhole reads a whole number. One that is not written in digits alone may have been rounded if it has more than 53
// bits.
func parseWhole(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// client returns the client of a process if a line names none.
func (p Process) client() int32 { return max(0, int32(p)) }

// MarshalJSON writes a number, "nemesis" or "probe".
func (p Process) MarshalJSON() ([]byte, error) {
	switch p {
	case Nemesis:
		return []byte(`"nemesis"`), nil
	case Probe:
		return []byte(`"probe"`), nil
	}
	return strconv.AppendInt(nil, int64(p), 10), nil
}

// UnmarshalJSON reads a number, "nemesis" or "probe".
func (p *Process) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		err := json.Unmarshal(data, (*int32)(p))
		if err == nil && *p < 0 { // -1 is not another way to write "nemesis"
			return Malform(0, "negative", "process is %d; expected 0 or more, \"nemesis\" or \"probe\"", *p)
		}
		return err
	}
	var word string
	err := json.Unmarshal(data, &word)
	switch word {
	case "nemesis":
		*p = Nemesis
	case "probe":
		*p = Probe
	default:
		return Malform(0, "word", "process %q is not known; expected a whole number, \"nemesis\" or \"probe\"", word)
	}
	return err
}

// MarshalText writes the word of the type.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the word of a type.
func (t *Type) UnmarshalText(text []byte) error {
	at := slices.Index(typeWords, string(text))
	if at < 0 {
		return Malform(0, "word", "the type %q is not known; expected invoke, ok, fail or info", text)
	}
	*t = Type(at)
	return nil
}

// value is the field that holds the value of a resource or the words of the nemesis.
type value struct {
	number *int64
	text   string
}

// MarshalJSON writes the one that is set.
func (v value) MarshalJSON() ([]byte, error) {
	if v.number != nil {
		return json.Marshal(v.number)
	}
	return appendLine(nil, v.text)
}

// UnmarshalJSON reads either.
func (v *value) UnmarshalJSON(data []byte) error {
	*v = value{}
	if data[0] == '"' {
		return json.Unmarshal(data, &v.text)
	}
	return json.Unmarshal(data, &v.number)
}
