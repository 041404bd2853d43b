package scenarios

import (
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
	for found := true; found; {
		var part word
		part, w, found = w.cut(sep)
		parts = append(parts, part)
	}
	return parts
}

// word is the text of a scalar, as it was written: numbers, true and null-like
// words are nothing special here, so `appendonly: no` and `port: 010` stay as they are.
func (r *reader) word(n ast.Node, what string) (word, bool) {
	w := word{at: r.place(n)}
	switch n := n.(type) {
	case *ast.LiteralNode:
		w.text = n.Value.Value
		return w, true
	case *ast.StringNode:
		w.text = n.Value
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		w.text = n.GetToken().Value
	default:
		if !r.odd(n) {
			r.fail(w.at, "", "%s takes one word or text", what)
		}
		return w, false
	}
	if w.at.line > 0 && w.at.line <= len(r.lines) {
		line := []rune(r.lines[w.at.line-1])
		start := min(w.at.column-1, len(line))
		if kind := n.GetToken().Type; kind == token.SingleQuoteType || kind == token.DoubleQuoteType {
			start = min(start+1, len(line))
		}
		if w.exact = strings.HasPrefix(string(line[start:]), w.text); w.exact {
			w.at.column, w.at.width = start+1, utf8.RuneCountInString(w.text)
		}
	}
	return w, true
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
	at := placeOf(n.GetToken())
	if at.line < 1 || at.line > len(r.lines) {
		return at
	}
	// The library does not count tabs in front of a word.
	line := []rune(r.lines[at.line-1])
	for at.column <= len(line) && (line[at.column-1] == ' ' || line[at.column-1] == '\t') {
		at.column++
	}
	return at
}

// placeOf is where a token begins, and how wide its first line is.
func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(t.Origin), "\r", "\n"), "\n")
	return place{line: t.Position.Line, column: max(1, t.Position.Column), width: max(1, utf8.RuneCountInString(first))}
}
