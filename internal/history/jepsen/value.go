package jepsen

import (
	"math"
	"strconv"
	"strings"
)

// Value is one value of EDN or JSON. The zero Value is nil.
type Value struct {
	Kind  Kind
	Text  string  // a word, number or text; the opening bracket of a list
	Items []Value // of a list; the keys and values of a map by turns
	Line  int     // where it begins
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Word   Kind = iota // :acquire, acquire, true, \newline; empty for nil and null
	Number             // as written: 7, 7N, 1.0E9
	Text               // in quotes
	List               // a list, vector or set
	Map
)

func (k Kind) String() string {
	return [...]string{"a word", "a number", "a text", "a list", "a map"}[k]
}

// IsNil reports whether the value is nil or null.
func (v Value) IsNil() bool { return v.Kind == Word && v.Text == "" }

// word returns a word or text without its colon, which some JSON writers put into texts.
func (v Value) word() (string, bool) {
	switch {
	case v.Kind == Text, v.Kind == Word && v.Text != "" && v.Text != "true" && v.Text != "false":
		return strings.TrimPrefix(v.Text, ":"), true
	}
	return "", false
}

// whole returns a whole number. Clojure writes large ones as 1.0E9.
func (v Value) whole() (int64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	digits := strings.TrimRight(v.Text, "MN")
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(digits, 64)
	return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53
}

// pair reports whether the value is a vector of two, as jepsen.independent writes a key and a value.
func (v Value) pair() bool { return v.Kind == List && v.Text == "[" && len(v.Items) == 2 }

// field returns what a map has under the first of the names that it has.
func (v Value) field(names ...string) (Value, bool) {
	if v.Kind != Map {
		return Value{}, false
	}
	for _, name := range names {
		for i := 0; i < len(v.Items); i += 2 {
			if word, ok := v.Items[i].word(); ok && word == name {
				return v.Items[i+1], true
			}
		}
	}
	return Value{}, false
}

// String returns the value as EDN.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v Value) write(b *strings.Builder) {
	open, closing := v.Text, ""
	switch v.Kind {
	case Word:
		if v.IsNil() {
			open = "nil"
		}
	case Text:
		open = strconv.Quote(v.Text)
	case List:
		closing = closings[v.Text]
	case Map:
		open, closing = "{", "}"
	}
	b.WriteString(open)
	for i, item := range v.Items {
		if i > 0 {
			b.WriteByte(' ')
		}
		item.write(b)
	}
	b.WriteString(closing)
}

// closings are the brackets that close what the keys open.
var closings = map[string]string{"(": ")", "[": "]", "{": "}", "#{": "}"}
