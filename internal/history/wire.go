package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"time"

	"lockbench/locks"
)

// wire is an event as a line of JSON has it, for both directions. Its fields stand in the order in which they are
// written. Pointers tell an absent field from one that is 0.
type wire struct {
	Index    *whole        `json:"index"`
	Time     *whole        `json:"time"`
	Process  *numberOrText `json:"process"`
	Client   *whole        `json:"client,omitempty"` // absent: the process number
	Type     string        `json:"type"`
	F        string        `json:"f"`
	Session  string        `json:"session,omitempty"`
	Key      string        `json:"key,omitempty"`
	Mode     string        `json:"mode,omitempty"`
	TTL      whole         `json:"ttl,omitempty"`
	Wait     whole         `json:"wait,omitempty"`
	Until    *whole        `json:"until,omitempty"`
	Strict   bool          `json:"strict,omitempty"`
	Token    *token        `json:"token,omitempty"`
	Resource string        `json:"resource,omitempty"`
	Owner    string        `json:"owner,omitempty"`
	Keys     []string      `json:"keys,omitempty"`
	Permits  *whole        `json:"permits,omitempty"`
	Lease    whole         `json:"lease,omitempty"`
	Renewed  bool          `json:"renewed,omitempty"`
	Node     string        `json:"node,omitempty"`
	Step     whole         `json:"step,omitempty"`
	Targets  []string      `json:"targets,omitempty"`
	Phase    string        `json:"phase,omitempty"`
	Effect   []string      `json:"effect,omitempty"`
	Value    *numberOrText `json:"value,omitempty"` // a resource's value, or the words of the nemesis
	Facts    *wireFacts    `json:"facts,omitempty"`
	Error    string        `json:"error,omitempty"`
}

// AppendEvent writes an event as one line, with its newline. It writes every field that is set, whether or not the
// event's kind has it, so that reading gives back what was written. It fails only for facts that one object cannot
// express.
func AppendEvent(dst []byte, e *Event) ([]byte, error) {
	w := wire{
		Index: new(whole(e.Index)), Time: new(whole(e.Time)), Process: &numberOrText{Number: whole(e.Process)},
		Type: e.Type.String(), F: e.F, Session: e.Session, Key: e.Key, TTL: whole(e.TTL), Wait: whole(e.Wait),
		Strict: e.Strict, Resource: e.Resource, Error: e.Error,
	}
	implied := int32(e.Process) // what an absent client means
	switch e.Process {
	case Nemesis:
		w.Process, implied = &numberOrText{Text: "nemesis", IsText: true}, 0
	case Probe:
		w.Process, implied = &numberOrText{Text: "probe", IsText: true}, 0
	}
	if e.Client != implied {
		w.Client = new(whole(e.Client))
	}
	if e.Mode == locks.Shared {
		w.Mode = "shared"
	}
	if e.HasUntil {
		w.Until = new(whole(e.Until))
	}
	if e.HasToken {
		w.Token = new(token(e.Token))
	}
	w.Owner, w.Keys, w.Lease, w.Renewed, w.Node = e.Owner, e.Keys, whole(e.Lease), e.Renewed, e.Node
	w.Step, w.Targets, w.Phase, w.Effect = whole(e.Step), e.Targets, e.Phase, e.Effect
	if e.Permits != 0 {
		w.Permits = new(whole(e.Permits))
	}
	if e.Text != "" {
		w.Value = &numberOrText{Text: e.Text, IsText: true}
	}
	var err error
	if w.Facts, err = factsOnWire(e.Facts); err != nil {
		return dst, err
	}
	if e.HasValue {
		w.Value = &numberOrText{Number: whole(e.Value)}
	}
	return appendLine(dst, &w)
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
func decodeEvent(line []byte, number int, e *Event) *Malformed {
	var w wire
	if err := json.Unmarshal(line, &w); err != nil {
		return wireError(line, number, err)
	}
	if m := w.process(number, e); m != nil {
		return m
	}
	if w.Index != nil {
		e.Index = int(*w.Index)
	}
	if w.Time != nil {
		e.Time = time.Duration(*w.Time)
	}
	for t := Invoke; t <= Info; t++ {
		if w.Type == typeWords[t] {
			e.Type = t
		}
	}
	if e.Type == 0 && w.Type != "" {
		return Malform(number, "word", "the type %q is not known; expected invoke, ok, fail or info", w.Type)
	}
	switch w.Mode {
	case "shared":
		e.Mode = locks.Shared
	case "exclusive", "":
	default:
		return Malform(number, "word", "the mode %q is not known; expected exclusive or shared", w.Mode)
	}
	e.F, e.Session, e.Key, e.Resource, e.Error, e.Strict = w.F, w.Session, w.Key, w.Resource, w.Error, w.Strict
	e.TTL, e.Wait = time.Duration(w.TTL), time.Duration(w.Wait)
	if w.Until != nil {
		e.Until, e.HasUntil = time.Duration(*w.Until), true
	}
	if w.Token != nil {
		e.Token, e.HasToken = uint64(*w.Token), true
	}
	e.Owner, e.Keys, e.Lease, e.Renewed, e.Node = w.Owner, w.Keys, time.Duration(w.Lease), w.Renewed, w.Node
	e.Step, e.Targets, e.Phase, e.Effect, e.Facts = int(w.Step), w.Targets, w.Phase, w.Effect, w.Facts.facts()
	if w.Permits != nil {
		if e.Permits = int(*w.Permits); e.Permits < 1 {
			return Malform(number, "permits", "permits is %d; expected 1 or more", e.Permits)
		}
	}
	if w.Value != nil && w.Value.IsText {
		e.Text = w.Value.Text
	} else if w.Value != nil {
		e.Value, e.HasValue = int64(w.Value.Number), true
	}
	return nil
}

// process decodes who did it: the process, and the client if it is another number.
func (w *wire) process(number int, e *Event) *Malformed {
	switch p := w.Process; {
	case p == nil:
		return Malform(number, "process", "the event has no process; expected a whole number, \"nemesis\" or \"probe\"")
	case p.IsText && p.Text == "nemesis":
		e.Process = Nemesis
	case p.IsText && p.Text == "probe":
		e.Process = Probe
	case p.IsText:
		return Malform(number, "word", "process %q is not known; expected a whole number, \"nemesis\" or \"probe\"", p.Text)
	case p.Number < 0: // -1 is not another way to write "nemesis"
		return Malform(number, "negative", "process is %d; expected 0 or more, \"nemesis\" or \"probe\"", p.Number)
	case p.Number > math.MaxInt32:
		return Malform(number, "json", "process is %d; expected at most %d", p.Number, math.MaxInt32)
	default:
		e.Process, e.Client = Process(p.Number), int32(p.Number)
	}
	if c := w.Client; c != nil {
		if *c < math.MinInt32 || *c > math.MaxInt32 {
			return Malform(number, "json", "client is %d; expected at most %d", *c, math.MaxInt32)
		}
		e.Client = int32(*c)
	}
	return nil
}

// wireError says what is wrong with a line that encoding/json refuses.
func wireError(line []byte, number int, err error) *Malformed {
	if m := (*Malformed)(nil); errors.As(err, &m) {
		m.Line = number
		return m
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		if kind.Field == "" {
			return Malform(number, "json", "the line is a JSON %s; expected an event, as an object in braces", kind.Value)
		}
		want := map[reflect.Kind]string{reflect.Int64: "a whole number of 64 bits", reflect.String: "a text",
			reflect.Bool: "true or false", reflect.Slice: "a list of texts", reflect.Struct: "an object"}[kind.Type.Kind()]
		return Malform(number, "json", "field %q is a JSON %s; expected %s", kind.Field, kind.Value, want)
	}
	var whole json.RawMessage
	if errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&whole), io.ErrUnexpectedEOF) {
		m := Malform(number, "json", "the line ends in the middle of its object; expected one whole object on every line")
		m.cutOff = true
		return m
	}
	return Malform(number, "json", "%v", err)
}

// whole is a whole number. Other programs may write 5e9 or 5.0 for one.
type whole int64

// UnmarshalJSON refuses fractions and numbers of more than 64 bits.
func (n *whole) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	i, ok := parseWhole(string(data))
	if !ok {
		return noWhole(data)
	}
	*n = whole(i)
	return nil
}

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

// noWhole is the error of a value that is no whole number. encoding/json adds the name of the field.
func noWhole(data []byte) error {
	value := "number " + string(data)
	switch data[0] {
	case '"':
		value = "string"
	case '{':
		value = "object"
	case '[':
		value = "array"
	case 't', 'f':
		value = "bool"
	}
	return &json.UnmarshalTypeError{Value: value, Type: reflect.TypeFor[int64]()}
}

// token is a fencing token, which may need all 64 bits.
type token uint64

// UnmarshalJSON refuses negative numbers as well.
func (t *token) UnmarshalJSON(data []byte) error {
	if n, err := strconv.ParseUint(string(data), 10, 64); err == nil {
		*t = token(n)
		return nil
	}
	n, ok := parseWhole(string(data))
	if !ok {
		return noWhole(data)
	}
	if n < 0 {
		return Malform(0, "negative", "token is %d; expected 0 or more", n)
	}
	*t = token(n)
	return nil
}

// numberOrText is the value of a field that has either.
type numberOrText struct {
	Number whole
	Text   string
	IsText bool
}

// MarshalJSON writes the one that it is.
func (v numberOrText) MarshalJSON() ([]byte, error) {
	if v.IsText {
		return appendLine(nil, v.Text)
	}
	return strconv.AppendInt(nil, int64(v.Number), 10), nil
}

// UnmarshalJSON reads either.
func (v *numberOrText) UnmarshalJSON(data []byte) error {
	*v = numberOrText{IsText: data[0] == '"'}
	if v.IsText {
		return json.Unmarshal(data, &v.Text)
	}
	return v.Number.UnmarshalJSON(data)
}
