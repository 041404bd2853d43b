package jepsen

import (
	"strconv"
	"strings"
)

// Value is a piece of a history that another program wrote: EDN, or JSON, which for
// this purpose is less of the same.
type Value struct {
	Kind  ValueKind
	Text  string // of a string, a keyword (without its colon), a symbol, a character; the tag of a tagged value
	Int   int64
	Float float64
	Items []Value // of a list, vector or set; of a map, keys and values by turns; of a tagged value, the one
	Cut   bool    // there were more Items than anybody needs
	Line  int     // where it begins
}

// ValueKind says what a value is.
type ValueKind uint8

// The kinds of values.
const (
	Nil ValueKind = iota
	Bool
	Int
	Float
	String
	Keyword
	Symbol
	Char
	List
	Vector
	Set
	Map
	Tagged
)

func (k ValueKind) String() string {
	return [...]string{"nil", "true or false", "a whole number", "a number", "a text", "a keyword", "a symbol", "a character",
		"a list", "a vector", "a set", "a map", "a tagged value"}[k]
}

// bare is the value without the tags around it: #jepsen.history.Op{...} is a map.
func (v Value) bare() Value {
	for v.Kind == Tagged && len(v.Items) == 1 {
		v = v.Items[0]
	}
	return v
}

// word is what a value says if it is one word, whichever way it is written.
func (v Value) word() (string, bool) {
	switch v.Kind {
	case String, Keyword, Symbol:
		return strings.TrimPrefix(v.Text, ":"), true // some JSON writers keep the colon
	}
	return "", false
}

// field returns what a map has under one of some names.
func (v Value) field(names ...string) (Value, bool) {
	if v = v.bare(); v.Kind != Map {
		return Value{}, false
	}
	for _, name := range names {
		for i := 0; i+1 < len(v.Items); i += 2 {
			if word, ok := v.Items[i].word(); ok && word == name {
				return v.Items[i+1], true
			}
		}
	}
	return Value{}, false
}

// String writes the value for people, in EDN.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v Value) write(b *strings.Builder) {
	open, closing := "", ""
	switch v.Kind {
	case Nil:
		b.WriteString("nil")
	case Bool:
		b.WriteString(strconv.FormatBool(v.Int != 0))
	case Int:
		b.WriteString(strconv.FormatInt(v.Int, 10))
	case Float:
		b.WriteString(strconv.FormatFloat(v.Float, 'g', -1, 64))
	case String:
		b.WriteString(strconv.Quote(v.Text))
	case Keyword:
		b.WriteString(":" + v.Text)
	case Symbol:
		b.WriteString(v.Text)
	case Char:
		b.WriteString(`\` + v.Text)
	case List:
		open, closing = "(", ")"
	case Vector:
		open, closing = "[", "]"
	case Set:
		open, closing = "#{", "}"
	case Map:
		open, closing = "{", "}"
	case Tagged:
		b.WriteString("#" + v.Text + " ")
	}
	b.WriteString(open)
	for i, item := range v.Items {
		if i > 0 {
			b.WriteByte(' ')
		}
		item.write(b)
	}
	if v.Cut {
		b.WriteString(" ...")
	}
	b.WriteString(closing)
}
