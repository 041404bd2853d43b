package jepsen

import (
	"bufio"
	"errors"
	"io"
	"strconv"

	"lockbench/internal/history"
)

// What one value may cost. An operation of a lock test is small; a history may also
// hold the final read of a set with a million elements, of which nothing is needed.
const (
	depthMax = 100
	keptMax  = 1 << 10  // values kept of one operation; the others are read and left out
	textMax  = 16 << 20 // bytes of one text
)

// forms reads the values of a file one by one: EDN, or JSON. It knows the line of
// each, holds one value in memory at a time, and builds nothing of what it need not
// understand: a tag that it does not know is a name and a value.
type forms struct {
	r      *bufio.Reader
	json   bool
	line   int
	column int
	back   bool // the byte read last is to be read again
	last   byte
	before int // column of the line before, for a newline that is put back
	kept   int
	buf    []byte
	names  map[string]string // words seen, so that each is kept once
	open   []Value           // items of the collections that are not closed yet
}

func newForms(r *bufio.Reader, asJSON bool) *forms {
	return &forms{r: r, json: asJSON, line: 1, names: make(map[string]string)}
}

// word keeps what was read as a text. A history says the same few words a million times.
func (f *forms) word(text []byte) string {
	const lengthMax, namesMax = 64, 1 << 16
	if known, ok := f.names[string(text)]; ok {
		return known
	}
	fresh := string(text)
	if len(text) <= lengthMax && len(f.names) < namesMax {
		f.names[fresh] = fresh
	}
	return fresh
}

// errCutShort says that the file ends within a value.
var errCutShort = errors.New("the file ends in the middle of a value")

func (f *forms) next() (byte, error) {
	if f.back {
		f.back = false
	} else {
		c, err := f.r.ReadByte()
		if err != nil {
			return 0, err
		}
		f.last = c
	}
	if f.last == '\n' {
		f.line++
		f.before, f.column = f.column, 0
	} else {
		f.column++
	}
	return f.last, nil
}

// unread puts back the byte read last.
func (f *forms) unread() {
	f.back = true
	if f.last == '\n' {
		f.line--
		f.column = f.before
	} else {
		f.column--
	}
}

func (f *forms) wrong(format string, args ...any) error {
	m := history.Malform(f.line, "edn", format, args...)
	if f.json {
		m.Rule = "json"
	}
	m.Text = "column " + strconv.Itoa(f.column) + ": " + m.Text
	return m
}

// skip goes to the next byte that means something, and takes it.
func (f *forms) skip() (byte, error) {
	for {
		c, err := f.next()
		if err != nil {
			return 0, err
		}
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case f.json:
			return c, nil
		case c == ',' || c == '\f' || c == '\v':
		case c == ';':
			for c != '\n' {
				if c, err = f.next(); err != nil {
					return 0, err
				}
			}
		default:
			return c, nil
		}
	}
}

// value reads one value whose first byte has been taken.
func (f *forms) value(c byte, depth int) (v Value, err error) {
	if depth > depthMax {
		return v, f.wrong("values are nested more than %d deep", depthMax)
	}
	f.kept++
	v.Line = f.line
	switch {
	case c == '"':
		v.Kind = String
		v.Text, err = f.text()
		return v, err
	case c == '[':
		return f.items(v, Vector, ']', depth)
	case c == '{':
		return f.items(v, Map, '}', depth)
	case c == '(' && !f.json:
		return f.items(v, List, ')', depth)
	case c == ')' || c == ']' || c == '}':
		return v, f.wrong("%q closes what was not opened", c)
	case c == '#' && !f.json:
		return f.dispatch(v, depth)
	case c == '\\' && !f.json:
		return f.char(v)
	case (c == '^' || c == '\'' || c == '`' || c == '~' || c == '@') && !f.json:
		// Clojure's, not EDN's: metadata stands before what it is about.
		if c == '^' {
			if _, err := f.inner(depth); err != nil {
				return v, err
			}
		}
		return f.inner(depth)
	}
	return f.atom(v, c)
}

// inner reads a value that must come.
func (f *forms) inner(depth int) (Value, error) {
	c, err := f.skip()
	if err != nil {
		return Value{}, cutShort(err)
	}
	return f.value(c, depth+1)
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return errCutShort
	}
	return err
}

// items reads up to a closing bracket.
func (f *forms) items(v Value, kind ValueKind, closing byte, depth int) (Value, error) {
	v.Kind = kind
	n, from := 0, len(f.open)
	for ; ; n++ {
		c, err := f.skip()
		if err != nil {
			return v, cutShort(err)
		}
		if c == closing && (!f.json || n == 0) {
			break
		}
		if f.json && n > 0 {
			want := byte(',')
			if kind == Map && n%2 == 1 {
				want = ':'
			}
			if c == closing && want == ',' {
				break
			}
			if c != want {
				return v, f.wrong("%q stands where %q was expected", c, want)
			}
			if c, err = f.skip(); err != nil {
				return v, cutShort(err)
			}
		}
		if c == '#' && !f.json {
			discarded, err := f.discard(depth)
			if err != nil {
				return v, err
			}
			if discarded {
				n--
				continue
			}
		}
		if f.json && kind == Map && n%2 == 0 && c != '"' {
			return v, f.wrong("%q begins the name of a field; expected a text in quotes", c)
		}
		item, err := f.value(c, depth+1)
		if err != nil {
			return v, err
		}
		if f.kept < keptMax {
			f.open = append(f.open, item)
		} else {
			v.Cut = true
		}
	}
	v.Items = append([]Value(nil), f.open[from:]...)
	f.open = f.open[:from]
	if kind == Map && n%2 == 1 {
		return v, f.wrong("a map has a key without a value")
	}
	if kind == Map && len(v.Items)%2 == 1 {
		v.Items = v.Items[:len(v.Items)-1]
	}
	return v, nil
}

// discard reads what stands after #_ and says whether that is what it was.
func (f *forms) discard(depth int) (bool, error) {
	c, err := f.next()
	if err != nil {
		return false, cutShort(err)
	}
	if c != '_' {
		f.unread()
		return false, nil
	}
	_, err = f.inner(depth)
	return true, err
}

// dispatch reads what begins with #: a set, a tag and its value.
func (f *forms) dispatch(v Value, depth int) (Value, error) {
	c, err := f.next()
	if err != nil {
		return v, cutShort(err)
	}
	switch c {
	case '{':
		return f.items(v, Set, '}', depth)
	case '_':
		if _, err := f.inner(depth); err != nil {
			return v, err
		}
		return f.inner(depth)
	case '"': // a regular expression
		v.Kind = String
		v.Text, err = f.text()
		return v, err
	case '\'': // the name of a variable
		return f.inner(depth)
	case '#': // ##Inf, ##NaN
		word, err := f.token(nil)
		v.Kind, v.Text = Symbol, "##"+word
		return v, err
	case '(', '^', '?', '=':
		return v, f.wrong("\"#%c\" is Clojure's and no EDN", c)
	}
	v.Kind = Tagged
	if v.Text, err = f.token([]byte{c}); err != nil {
		return v, err
	}
	item, err := f.inner(depth)
	v.Items = []Value{item}
	return v, err
}
