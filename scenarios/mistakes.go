package scenarios

import (
	"strings"

	"lockbench/locks/catalog"
)

// mistakes collects the errors of one text. A method of a reader that finds a mistake adds an error and ends the reading of the
// value with a panic, so that methods need not return whether a value could be read. [mistakes.try] and [mistakes.each] recover
// from it.
type mistakes struct {
	file string
	errs []*Error
}

// mistake is the panic after an error was added.
type mistake struct{}

// try calls do, and reports whether it found no mistake.
func (m *mistakes) try(do func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil && p != any(mistake{}) {
			panic(p)
		}
	}()
	do()
	return true
}

// each calls do for each pair, also after a mistake in one of them. Such a mistake ends the reading of the whole.
func (m *mistakes) each(list pairs, do func(e pair)) {
	ok := true
	for _, e := range list {
		ok = m.try(func() { do(e) }) && ok
	}
	if !ok {
		panic(mistake{})
	}
}

// fail adds an error, and ends the reading of the value.
func (m *mistakes) fail(at position, hint, format string, args ...any) {
	m.add(at, wrong(hint, format, args...))
	panic(mistake{})
}

// unknown adds an error for an unknown word.
func (m *mistakes) unknown(w word, known []string, format string, args ...any) {
	m.fail(w.at, catalog.DidYouMean(w.text, known), format, args...)
}

func (m *mistakes) add(at position, e *Error) {
	e.File = m.file
	if !strings.HasPrefix(m.file, "--") { // a flag has no lines
		e.Line, e.Column = at.line, at.column
	}
	m.errs = append(m.errs, e)
}
