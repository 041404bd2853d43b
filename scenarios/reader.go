package scenarios

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// reader collects what a text says and what is wrong with it.
type reader struct {
	file  string
	lines []string
	kind  kind // what the text is
	yaml  bool // the text has lines; an argument has none
	errs  []*Error
	uses  []LockUse // what was read of `locks:`
	// where has the places of values, by paths such as "faults/0/hold"; bad, the
	// paths whose value could not be read, so that no rule is held against what
	// merely stands in for it.
	where map[string]place
	bad   map[string]bool
}

// kind is what a text is, and its first line.
type kind struct{ name, version string }

var (
	scenarioKind = kind{"scenario", Version}
	askedKind    = kind{"list of expectations", AskedVersion}
)

func newReader(file string, lines ...string) *reader {
	return &reader{file: file, kind: scenarioKind, lines: lines, where: map[string]place{}, bad: map[string]bool{}}
}

// fail notes that something is wrong.
func (r *reader) fail(at place, hint, format string, args ...any) {
	r.add(at, wrong(hint, format, args...))
}

// unknown notes that a word is none of those that are known.
func (r *reader) unknown(w word, known []string, plural, format string, args ...any) {
	r.fail(w.at, suggest(w.text, known, plural), format, args...)
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

// checked places what a catalog's own check says: at the first key of the text
// that its message names before a colon, else at the whole.
func (r *reader) checked(path string, whole place, err error) {
	before, _, _ := strings.Cut(err.Error(), ":")
	for _, key := range strings.Fields(before) {
		if at, ok := r.where[join(path, key)]; ok {
			whole = at
			break
		}
	}
	r.fail(whole, "", "%v", err)
}

// breach notes a broken rule at its place in the file.
func (r *reader) breach(b breach) {
	var at place
	for _, path := range b.at {
		if r.bad[path] {
			return
		}
		if at == (place{}) {
			at = r.where[path]
		}
	}
	r.fail(at, b.hint, "%s", b.text)
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
