package jepsen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"lockbench/internal/history"
)

// Limits on one value. Operations of a lock test are small, but a history may also hold the
// final read of a set with a million elements.
const (
	depthMax = 100
	keptMax  = 1 << 10  // pieces of an operation after which lists are cut
	textMax  = 16 << 20 // bytes of one word or text
)

// end is what next and peek return at the end of the file and after a read error.
const end = -1

// errCutShort reports that the file ends within a value.
var errCutShort = errors.New("the file ends in the middle of a value")

// reader reads the values of a file one by one. Its grammar is that part of EDN which Jepsen
// writes. JSON has the same grammar: commas are white space in EDN, and in JSON colons are, too.
// Tags are read and dropped. Other parts of EDN and Clojure are refused: ratios, regular
// expressions, discards, metadata, quotes, ##Inf and ::words.
type reader struct {
	in           *bufio.Reader
	json         bool
	line, column int
	kept         int // pieces of the operation so far
	buf          []byte
	err          error // other than io.EOF
}

func newReader(in *bufio.Reader, asJSON bool) *reader {
	return &reader{in: in, json: asJSON, line: 1}
}

// peek returns the next byte, or end.
func (r *reader) peek() rune {
	next, err := r.in.Peek(1)
	if err == nil {
		return rune(next[0])
	}
	if !errors.Is(err, io.EOF) {
		r.err = err
	}
	return end
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
	_, _ = r.in.Discard(1) // which peek has read
	return c
}

// cutShort returns the error for a value that the end of the file cuts off.
func (r *reader) cutShort() error {
	if r.err != nil {
		return r.err
	}
	return errCutShort
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
		return v, r.cutShort()
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
		return v, r.cutShort()
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
	r.buf = r.buf[:0]
	for {
		c := r.peek()
		character := len(r.buf) == 1 && r.buf[0] == '\\'
		switch {
		case c == end && character:
			return "", r.cutShort()
		case c == end, !character && (r.isSpace(c) || strings.IndexByte(`;"()[]{}`, byte(c)) >= 0):
			if !utf8.Valid(r.buf) {
				return "", r.wrong("a word is not UTF-8")
			}
			return string(r.buf), r.err
		case len(r.buf) == textMax:
			return "", r.wrong("a word is longer than %d MiB", textMax>>20)
		}
		r.buf = append(r.buf, byte(r.next()))
	}
}

// text reads a text whose opening quote has been taken. Its escapes are those of JSON.
// EDN allows control characters in it.
func (r *reader) text() (string, error) {
	r.buf = append(r.buf[:0], '"')
	plain := true
	for {
		switch c := r.next(); {
		case c == end:
			return "", r.cutShort()
		case c == '"' && plain:
			return string(r.buf[1:]), nil
		case c == '"':
			var s string
			if err := json.Unmarshal(append(r.buf, '"'), &s); err != nil {
				return "", r.wrong("a text cannot be read: %v", err)
			}
			return s, nil
		case c == '\\':
			plain = false
			r.buf = append(r.buf, '\\')
			if c = r.next(); c == end {
				return "", r.cutShort()
			}
			r.buf = append(r.buf, byte(c))
		case c < ' ':
			plain = false
			r.buf = fmt.Appendf(r.buf, `\u%04x`, c)
		default:
			plain = plain && c < utf8.RuneSelf
			r.buf = append(r.buf, byte(c))
		}
		if len(r.buf) > textMax {
			return "", r.wrong("a text is longer than %d MiB", textMax>>20)
		}
	}
}
