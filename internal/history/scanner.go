package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// errCutOff says that a line ends in the middle of its object. Only the last line
// of a file may, and only if no newline follows it: then its writer was killed.
var errCutOff = errors.New("the line is cut off")

// scanner takes one line of JSON apart. Lines are read by the million, so what is
// usual (flat objects, plain strings, whole numbers) is done here and without
// garbage; what is not is found here and left to encoding/json.
//
// The first error sticks, and then every method returns at once with a zero value.
type scanner struct {
	line  []byte
	pos   int
	err   error
	rule  string            // which rule the error breaks
	names map[string]string // the strings seen, so that each is kept once
	near  [nearMax]string   // some of them
}

func (s *scanner) reset(line []byte) { s.line, s.pos, s.err, s.rule = line, 0, nil, "json" }

// fail breaks the rule json: the line cannot be read as what it should be.
func (s *scanner) fail(format string, args ...any) { s.breaks("json", format, args...) }

func (s *scanner) breaks(rule, format string, args ...any) {
	if s.err == nil {
		s.rule, s.err = rule, fmt.Errorf(format, args...)
	}
}

// unexpected fails at the present byte.
func (s *scanner) unexpected(want string) {
	switch {
	case s.err != nil:
	case s.pos >= len(s.line):
		s.err = errCutOff
	default:
		s.fail("column %d has %q; expected %s", s.pos+1, s.line[s.pos], want)
	}
}

// peek skips white space and returns the next byte, or 0 at the end of the line.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.line); s.pos++ {
		switch c := s.line[s.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c.
func (s *scanner) take(c byte, want string) {
	if s.err == nil && s.peek() != c {
		s.unexpected(want)
	}
	if s.err == nil {
		s.pos++
	}
}

// more tells whether an object or array has another element, and consumes what
// stands before it. The first call follows the opening bracket.
func (s *scanner) more(first *bool, closing byte) bool {
	if s.err != nil {
		return false
	}
	c := s.peek()
	switch {
	case c == closing:
		s.pos++
		return false
	case *first:
		*first = false
		return true
	case c == ',':
		s.pos++
		return true
	}
	s.unexpected("a comma or the end of the " + map[byte]string{'}': "object", ']': "list"}[closing])
	return false
}

// end fails unless the line ends here.
func (s *scanner) end() {
	if s.peek(); s.err == nil && s.pos < len(s.line) {
		s.unexpected("nothing after the object")
	}
}

// null consumes null, if it stands here: a field that is there without a value.
func (s *scanner) null() bool {
	if s.err != nil || s.peek() != 'n' {
		return false
	}
	return s.literal("null")
}

func (s *scanner) literal(word string) bool {
	rest := s.line[s.pos:]
	if len(rest) < len(word) && string(rest) == word[:len(rest)] {
		s.pos = len(s.line)
	} else if bytes.HasPrefix(rest, []byte(word)) {
		s.pos += len(word)
		return true
	}
	s.unexpected(word)
	return false
}

func (s *scanner) bool() bool {
	if s.err != nil {
		return false
	}
	if s.peek() == 't' {
		return s.literal("true")
	}
	s.literal("false")
	return false
}

// quoted returns what stands between quotes, and whether it stands for itself.
func (s *scanner) quoted() (content []byte, plain bool) {
	s.take('"', "a text in quotes")
	if s.err != nil {
		return nil, false
	}
	plain = true
	for i := s.pos; i < len(s.line); i++ {
		c := s.line[i]
		if ordinary[c] {
			continue
		}
		switch {
		case c == '"':
			content = s.line[s.pos:i]
			s.pos = i + 1
			return content, plain
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			s.pos = i
			s.unexpected("a text without control characters")
			return nil, false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.err = errCutOff
	return nil, false
}

// ordinary are the bytes that mean nothing in a text but themselves.
var ordinary = func() (o [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		o[c] = c != '"' && c != '\\'
	}
	return o
}()

// name reads the name of a field; it is valid until the next call.
func (s *scanner) name() []byte {
	content, plain := s.quoted()
	if !plain && s.err == nil {
		content = []byte(s.unquote(content))
	}
	s.take(':', "a colon")
	return content
}

// string reads a text.
func (s *scanner) string() string {
	content, plain := s.quoted()
	if s.err != nil {
		return ""
	}
	if !plain {
		return s.unquote(content)
	}
	if len(content) == 0 {
		return ""
	}
	// An event and its return mostly stand close to each other, and so do the sessions
	// of those who are at it: a small table spares most of the hashing.
	near := &s.near[(uint(content[len(content)-1])+uint(content[0])*7+uint(len(content))*31)%nearMax]
	if *near == string(content) {
		return *near
	}
	known, ok := s.names[string(content)]
	if !ok {
		known = string(content)
		s.names[known] = known
	}
	*near = known
	return known
}

// nearMax is how many of the latest strings are found without the map.
const nearMax = 256

// unquote resolves escapes and replaces what is no UTF-8, as encoding/json does.
func (s *scanner) unquote(content []byte) string {
	var text string
	if err := json.Unmarshal(append(append([]byte{'"'}, content...), '"'), &text); err != nil {
		s.fail("the text before column %d: %v", s.pos+1, err)
	}
	return text
}

// strings reads a list of texts. Those of a long one mostly stand there for the first
// time, and to look for each of them would take longer than all the rest.
func (s *scanner) strings() []string {
	s.take('[', "a list")
	var list []string
	for first := true; s.more(&first, ']'); {
		if len(list) < listShort {
			list = append(list, s.string())
			continue
		}
		if len(list) == listShort {
			list = slices.Grow(list, bytes.Count(s.line[s.pos:], []byte{','})+1)
		}
		content, plain := s.quoted()
		if !plain && s.err == nil {
			list = append(list, s.unquote(content))
			continue
		}
		list = append(list, string(content))
	}
	return list
}

// listShort is how many texts of a list are kept once.
const listShort = 64

// unsigned reads a whole number, and whether it had a minus. Other programs may
// write 5e9 or 5.0 for one; a fraction is an error.
func (s *scanner) unsigned() (n uint64, negative bool) {
	if s.err != nil {
		return 0, false
	}
	if s.peek() == '-' {
		negative = true
		s.pos++
	}
	from := s.pos
	for ; s.pos < len(s.line); s.pos++ {
		digit := uint64(s.line[s.pos] - '0')
		if digit > 9 {
			break
		}
		// Eighteen digits always fit, and a division for each of them would be felt.
		if s.pos-from >= 18 && n > (math.MaxUint64-digit)/10 {
			s.fail("the number at column %d is too large", from+1)
			return 0, negative
		}
		n = n*10 + digit
	}
	switch {
	case s.pos == len(s.line):
		s.err = errCutOff
	case s.pos == from:
		s.unexpected("a whole number")
	case s.line[from] == '0' && s.pos > from+1:
		s.fail("the number at column %d begins with 0", from+1)
	case s.line[s.pos] == '.' || s.line[s.pos]|0x20 == 'e':
		return s.fraction(from), negative
	}
	return n, negative
}

// fraction reads the number that began at from and has a point or an exponent.
func (s *scanner) fraction(from int) uint64 {
	for s.pos < len(s.line) && bytes.IndexByte([]byte("+-.eE0123456789"), s.line[s.pos]) >= 0 {
		s.pos++
	}
	if s.pos == len(s.line) {
		s.err = errCutOff
		return 0
	}
	f, err := strconv.ParseFloat(string(s.line[from:s.pos]), 64)
	if err != nil || f != math.Trunc(f) || f >= 1<<53 || !json.Valid(s.line[from:s.pos]) {
		s.fail("column %d has %s; expected a whole number", from+1, s.line[from:s.pos])
		return 0
	}
	return uint64(f)
}

func (s *scanner) int64() int64 {
	n, negative := s.unsigned()
	switch {
	case !negative && n <= math.MaxInt64:
		return int64(n)
	case negative && n <= 1<<63:
		return -int64(n) // of 1<<63, too: it is its own negative
	}
	s.fail("the number before column %d is too large", s.pos+1)
	return 0
}

// raw returns the JSON value that stands here, whatever it is.
func (s *scanner) raw() []byte {
	if s.err != nil {
		return nil
	}
	s.peek()
	from, depth := s.pos, 0
	for s.pos < len(s.line) {
		switch s.line[s.pos] {
		case '"':
			if s.quoted(); s.err != nil {
				return nil
			}
			s.pos-- // the closing quote, which the loop steps over
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return s.valid(from)
			}
		}
		if depth < 0 {
			return s.valid(from)
		}
		s.pos++
	}
	s.err = errCutOff
	return nil
}

func (s *scanner) valid(from int) []byte {
	value := bytes.TrimSpace(s.line[from:s.pos])
	if len(value) == 0 {
		s.unexpected("a value")
	} else if !json.Valid(value) {
		s.fail("columns %d to %d are no JSON value", from+1, s.pos)
	}
	return value
}
