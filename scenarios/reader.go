package scenarios

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader reads one text.
type reader struct {
	mistakes
	// where maps paths of values, such as "faults/0/hold", to their places.
	where map[string]position
}

func newReader(file string) *reader {
	return &reader{mistakes: mistakes{file: file}, where: map[string]position{}}
}

// position is a position in a file, in lines and characters from 1. The zero position is the whole file or an argument.
type position struct{ line, column int }

// word is a piece of text with its position.
type word struct {
	text string
	at   position
}

// pair is a key with its value, or an element of a list.
type pair struct {
	key   word
	path  string // of the value, such as "faults/0/hold"
	value ast.Node
	// part replaces the value if it is not a node, as in `set-nx/ttl=2s`.
	part *word
}

// pairs are the keys of one map with their values, in the order of the file.
type pairs []pair

// get returns the pair of a key, or the zero pair.
func (list pairs) get(key string) pair {
	e, _ := find(list, func(e pair) string { return e.key.text }, key)
	return e
}

func (list pairs) has(key string) bool { return list.get(key).path != "" }

func join(path, key string) string { return strings.TrimPrefix(path+"/"+key, "/") }

// checked adds the error of a catalog's own check, at the first key that its message names before a colon, or at the
// whole.
func (r *reader) checked(path string, whole position, err error) {
	before, _, _ := strings.Cut(err.Error(), ":")
	for _, key := range strings.Fields(before) {
		if at, ok := r.where[join(path, key)]; ok {
			whole = at
			break
		}
	}
	r.fail(whole, "", "%v", err)
}

func isMap(n ast.Node) bool {
	_, ok := n.(ast.MapNode)
	return ok
}

// pairs returns the keys of a map with their values. Messages call the map what. path is the prefix of the paths of its values.
func (r *reader) pairs(n ast.Node, path, what string) pairs {
	if !isMap(n) {
		r.odd(n, what+" takes keys with values")
	}
	var list pairs
	for m := n.(ast.MapNode).MapRange(); m.Next(); {
		r.try(func() {
			key := r.word(m.Key(), "a key")
			e := pair{key: key, path: join(path, key.text), value: m.Value()}
			r.where[e.path] = positionOf(e.value)
			list = append(list, e)
		})
	}
	return list
}

// items returns the elements of a list. Messages call each element what.
func (r *reader) items(e pair, what, example string) (list pairs) {
	s, ok := e.value.(*ast.SequenceNode)
	if !ok {
		r.odd(e.value, e.key.text+" takes a list, for example "+example)
	}
	for i, n := range s.Values {
		item := pair{key: word{text: what}, path: fmt.Sprintf("%s/%d", e.path, i), value: n}
		r.where[item.path] = positionOf(n)
		list = append(list, item)
	}
	return list
}

// text returns the value of an entry that is a scalar.
func (r *reader) text(e pair) word {
	if e.part != nil {
		return *e.part
	}
	return r.word(e.value, e.key.text)
}

// word returns the text of a scalar as it was written, so `appendonly: no` and `port: 010` stay as they are.
func (r *reader) word(n ast.Node, what string) word {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return word{n.Value.Value, positionOf(n)}
	case *ast.StringNode:
		return word{n.Value, positionOf(n)}
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return word{n.GetToken().Value, positionOf(n)}
	}
	r.odd(n, what+" takes one word or text")
	panic("odd returns only with a mistake")
}

// odd reports a value that is missing, has the wrong kind, or uses an unsupported feature of YAML.
func (r *reader) odd(n ast.Node, takes string) {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		r.fail(positionOf(n), "write it, or remove the key", "a value is missing")
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode, *ast.TagNode:
		r.fail(positionOf(n), "write the value out", "scenarios have no anchors, aliases, merge keys and tags")
	default:
		r.fail(positionOf(n), "", "%s", takes)
	}
}

// positionOf returns the beginning of a node. A map begins with its first key, where the library returns the place of the
// colon.
func positionOf(n ast.Node) position {
	switch m := n.(type) {
	case nil:
		return position{}
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return positionOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return positionOf(m.Key)
	}
	return positionOfToken(n.GetToken())
}

func positionOfToken(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{line: t.Position.Line, column: max(1, t.Position.Column)}
}
