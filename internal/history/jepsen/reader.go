package jepsen

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"lockbench/internal/history"
)

// Limits on one value. Operations of a lock test are small, but a history may also hold the
// final read of a set with a million elements.
const (
	depthMax = 100
	keptMax  = 1 << 10 // pieces of an operation after which lists are cut
)

// end is what next and peek return at the end of the file.
const end = -1

// errCutShort reports that the file ends within a value.
var errCutShort = errors.New("the file ends in the middle of a value")

// reader reads the values of a file one by one. Its grammar is that part of EDN which Jepsen
// writes. JSON has the same grammar: commas are white space in EDN, and in JSON colons are, too.
// Tags are read and dropped. Other parts of EDN and Clojure are refused: ratios, regular
// expressions, discards, metadata, quotes, ##Inf and ::words.
type reader struct {
	in                []byte
	json              bool
	pos, line, column int
	kept              int // pieces of the operation so far
}

// peek returns the next byte, or end.
func (r *reader) peek() rune {
	if r.pos == len(r.in) {
		return end
	}
	return rune(r.in[r.pos])
}

// next takes the next byte.
func (r *reader) next() rune {
	c := r.peek()
	switch c {
	case end:
		return end
	case '\n':
		r.line++
		r.column = 0
	default:
		r.column++
	}
	r.pos++
	return c
}

func (r *reader) wrong(format string, args ...any) error {
	rule := "edn"
	if r.json {
		rule = "json"
	}
	return history.Malform(r.line, rule, "column %d: %s", r.column, fmt.Sprintf(format, args...))
}

func (r *reader) isSpace(c rune) bool {
	return c >= 0 && strings.IndexByte(" \t\r\n\f\v,", byte(c)) >= 0 || c == ':' && r.json
}

// skip takes white space and comments and returns the byte after them without taking it.
func (r *reader) skip() rune {
	for {
		c := r.peek()
		switch {
		case r.isSpace(c):
			r.next()
		case c == ';':
			for c != '\n' && c != end {
				c = r.next()
			}
		default:
			return c
		}
	}
}

// value reads one value.
func (r *reader) value(depth int) (v Value, err error) {
	if depth > depthMax {
		return v, r.wrong("values are nested more than %d deep", depthMax)
	}
	c := r.skip()
	r.kept++
	v.Line = r.line
	switch c {
	case end:
		return v, errCutShort
	case '"':
		r.next()
		v.Kind = Text
		v.Text, err = r.text()
		return v, err
	case '(', '[', '{':
		r.next()
		return r.items(v, string(c), depth)
	case ')', ']', '}':
		r.next()
		return v, r.wrong("%q closes what was not opened", c)
	case '#':
		r.next()
		return r.tagged(v, depth)
	case '^', '\'', '`', '~', '@':
		r.next()
		return v, r.wrong("%q begins a form of Clojure that lockbench does not read", c)
	}
	return r.word(v)
}

// items reads the items of a list or map up to the closing bracket. A map keeps all of them.
// A list keeps the first two, which may be a key and a value. It keeps others until the
// operation has keptMax pieces, and marks with a third item that it is cut.
func (r *reader) items(v Value, opening string, depth int) (Value, error) {
	v.Kind, v.Text = List, opening
	if opening == "{" {
		v.Kind, v.Text = Map, ""
	}
	closing := rune(closings[opening][0])
	n, cut := 0, false
	for ; r.skip() != closing; n++ {
		item, err := r.value(depth + 1)
		switch {
		case err != nil:
			return v, err
		case v.Kind == Map || n < 2 || r.kept < keptMax:
			v.Items = append(v.Items, item)
		case !cut:
			v.Items = append(v.Items, Value{Text: "..."})
			cut = true
		}
	}
	r.next()
	if v.Kind == Map && n%2 == 1 {
		return v, r.wrong("a map has a key without a value")
	}
	return v, nil
}

// tagged reads what begins with a number sign: a set, or a tag and its value.
func (r *reader) tagged(v Value, depth int) (Value, error) {
	switch c := r.peek(); {
	case c == end:
		return v, errCutShort
	case c == '{':
		r.next()
		return r.items(v, "#{", depth)
	case c|' ' < 'a' || c|' ' > 'z':
		return v, r.wrong("%q begins a form of Clojure that lockbench does not read", "#"+string(c))
	}
	if _, err := r.token(); err != nil {
		return v, err
	}
	return r.value(depth + 1)
}

// word reads a word or number.
func (r *reader) word(v Value) (Value, error) {
	token, err := r.token()
	if err != nil {
		return v, err
	}
	v.Text = token
	digits := strings.TrimLeft(token, "+-")
	switch {
	case token == "nil" || token == "null":
		v.Text = ""
	case token == ":":
		return v, r.wrong("a colon stands alone; expected a keyword")
	case strings.HasPrefix(token, "::"):
		return v, r.wrong("%q is a keyword of a namespace that only Clojure knows; lockbench does not read it", token)
	case digits == "" || digits[0] < '0' || digits[0] > '9':
	case strings.Contains(token, "/"):
		return v, r.wrong("%q is a ratio, which lockbench does not read", token)
	default: // 0x1f in a printed object stays a word
		_, err := strconv.ParseFloat(strings.TrimRight(token, "MN"), 64)
		if err == nil || errors.Is(err, strconv.ErrRange) {
			v.Kind = Number
		}
	}
	return v, nil
}

// token takes the bytes of a word. A character, such as \(, begins with any two bytes.
func (r *reader) token() (string, error) {
	begin := r.pos
	for {
		c := r.peek()
		character := r.pos == begin+1 && r.in[begin] == '\\'
		switch {
		case c == end && character:
			return "", errCutShort
		case c == end, !character && (r.isSpace(c) || strings.IndexByte(`;"()[]{}`, byte(c)) >= 0):
			if token := r.in[begin:r.pos]; utf8.Valid(token) {
				return string(token), nil
			}
			return "", r.wrong("a word is not UTF-8")
		}
		r.next()
	}
}

// text reads a text whose opening quote has been taken. Its escapes are those of JSON.
// EDN allows control characters in it.
func (r *reader) text() (string, error) {
	buf := []byte{'"'}
	for {
		switch c := r.next(); {
		case c == end:
			return "", errCutShort
		case c == '"':
			var s string
			if err := json.Unmarshal(append(buf, '"'), &s); err != nil {
				return "", r.wrong("a text cannot be read: %v", err)
			}
			return s, nil
		case c == '\\':
			if c = r.next(); c == end {
				return "", errCutShort
			}
			buf = append(buf, '\\', byte(c))
		case c < ' ':
			buf = fmt.Appendf(buf, `\u%04x`, c)
		default:
			buf = append(buf, byte(c))
		}
	}
}
