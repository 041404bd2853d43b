package scenarios

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// place is where something stands in a file or an argument, in lines and
// characters from 1.
type place struct{ line, column, width int }

// word is a piece of text that a person wrote, with its place.
type word struct {
	text string
	at   place
	// exact: the text stands in the source letter by letter from at.column on, so
	// that its parts have places of their own. Not so with escapes and folded lines.
	exact bool
}

// part is the piece of w from byte i to byte j.
func (w word) part(i, j int) word {
	p := word{text: w.text[i:j], at: w.at, exact: w.exact}
	if w.exact {
		p.at.column += utf8.RuneCountInString(w.text[:i])
		p.at.width = utf8.RuneCountInString(p.text)
	}
	return p
}

// trimmed is w without the spaces around it.
func (w word) trimmed() word {
	left := len(w.text) - len(strings.TrimLeft(w.text, " \t"))
	right := len(strings.TrimRight(w.text, " \t"))
	return w.part(min(left, right), right)
}

// cut splits w around the first sep, as strings.Cut does.
func (w word) cut(sep string) (before, after word, found bool) {
	i := strings.Index(w.text, sep)
	if i < 0 {
		return w, w.part(len(w.text), len(w.text)), false
	}
	return w.part(0, i), w.part(i+len(sep), len(w.text)), true
}

// split splits w around every sep.
func (w word) split(sep string) []word {
	var parts []word
	for {
		before, after, found := w.cut(sep)
		parts = append(parts, before)
		if !found {
			return parts
		}
		w = after
	}
}

// entry is a key and its value.
type entry struct {
	key   word
	value ast.Node
}

// reader collects what a text says and what is wrong with it.
type reader struct {
	file  string
	lines []string
	yaml  bool // the text has lines; an argument has none
	known Known
	errs  []*Error
	// where has the places of values, by paths such as "faults/0/hold"; bad, the
	// paths whose value could not be read, so that no rule is held against what
	// merely stands in for it.
	where map[string]place
	bad   map[string]bool
}

// fail notes that something is wrong.
func (r *reader) fail(at place, hint, format string, args ...any) {
	r.add(at, &Error{Text: fmt.Sprintf(format, args...), Hint: hint})
}

// add notes an error, and with it the place.
func (r *reader) add(at place, e *Error) {
	e.File = r.file
	if at.line > 0 {
		e.Column = at.column
		if r.yaml {
			e.Line = at.line
		}
		if at.line <= len(r.lines) {
			e.source = r.lines[at.line-1]
			rest := utf8.RuneCountInString(e.source) - at.column + 1
			e.width = max(1, min(at.width, rest))
		}
	}
	r.errs = append(r.errs, e)
}

// entries are the keys of a map, each once and with text for a name. The path is
// what stands in front of their names in r.where.
func (r *reader) entries(n ast.Node, path, what string) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		if !r.odd(n) {
			r.fail(r.place(n), "", "%s takes keys with values", what)
		}
		return nil, false
	}
	var list []entry
	first := map[string]place{}
	for _, v := range values {
		if v.Key.IsMergeKey() {
			r.fail(r.place(v.Key), "write its keys here", "scenarios have no merge keys")
			continue
		}
		key, ok := r.word(v.Key, "a key")
		if !ok {
			continue
		}
		if at, twice := first[key.text]; twice {
			r.fail(key.at, fmt.Sprintf("the first is in line %d", at.line), "%q is given twice", key.text)
			continue
		}
		first[key.text] = key.at
		r.where[join(path, key.text)] = r.place(v.Value)
		list = append(list, entry{key, v.Value})
	}
	return list, true
}

// items are the elements of a list.
func (r *reader) items(n ast.Node, what, example string) ([]ast.Node, bool) {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values, true
	}
	if !r.odd(n) {
		r.fail(r.place(n), "for example "+example, "%s takes a list", what)
	}
	return nil, false
}

// word is the text of a scalar, as it was written: numbers, true and null-like
// words are nothing special here, so `appendonly: no` and `port: 010` stay as they are.
func (r *reader) word(n ast.Node, what string) (word, bool) {
	at := r.place(n)
	switch n := n.(type) {
	case *ast.LiteralNode:
		return word{text: n.Value.Value, at: at}, true
	case *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		text := n.GetToken().Value
		if s, ok := n.(*ast.StringNode); ok {
			text = s.Value
		}
		w := word{text: text, at: at}
		if at.line > 0 && at.line <= len(r.lines) {
			line := []rune(r.lines[at.line-1])
			start := min(at.column-1, len(line))
			quoted := n.GetToken().Type == token.SingleQuoteType || n.GetToken().Type == token.DoubleQuoteType
			if quoted {
				start = min(start+1, len(line))
			}
			if w.exact = strings.HasPrefix(string(line[start:]), text); w.exact {
				w.at.column, w.at.width = start+1, utf8.RuneCountInString(text)
			}
		}
		return w, true
	}
	if !r.odd(n) {
		r.fail(at, "", "%s takes one word or text", what)
	}
	return word{}, false
}

// odd reports what no scenario needs, and what is not there at all.
func (r *reader) odd(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		r.fail(place{}, "", "a value is missing")
	case *ast.NullNode:
		r.fail(r.place(n), "write it, or take the key away", "a value is missing")
	case *ast.AnchorNode, *ast.AliasNode:
		r.fail(r.place(n), "write the value out", "scenarios have no anchors and aliases")
	case *ast.TagNode:
		r.fail(r.place(n), "write the value plainly; quotes keep it text", "scenarios have no tags")
	default:
		return false
	}
	return true
}

// place is where a node begins. A map begins with its first key, where the
// library names the colon behind it.
func (r *reader) place(n ast.Node) place {
	switch m := n.(type) {
	case nil:
		return place{}
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return r.place(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return r.place(m.Key)
	}
	return r.seen(placeOf(n.GetToken()))
}

// seen puts right what the library gets wrong: it does not count tabs in front of
// a word.
func (r *reader) seen(at place) place {
	if at.line < 1 || at.line > len(r.lines) {
		return at
	}
	line := []rune(r.lines[at.line-1])
	for at.column <= len(line) && (line[at.column-1] == ' ' || line[at.column-1] == '\t') {
		at.column++
	}
	return at
}

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	width := utf8.RuneCountInString(strings.TrimSpace(t.Origin))
	if i := strings.IndexAny(strings.TrimSpace(t.Origin), "\r\n"); i >= 0 {
		width = utf8.RuneCountInString(strings.TrimSpace(t.Origin)[:i])
	}
	return place{line: t.Position.Line, column: max(1, t.Position.Column), width: max(1, width)}
}

// checked places what a catalog's own check says: at the first key of the text
// that its message names before a colon, else at the whole.
func (r *reader) checked(path string, whole place, err error) {
	at := whole
	before, _, _ := strings.Cut(err.Error(), ":")
	for _, key := range strings.Fields(before) {
		if p, ok := r.where[join(path, key)]; ok {
			at = p
			break
		}
	}
	r.fail(at, "", "%v", err)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}
