package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errorsMax is the number of errors of one file that are printed. Further errors are often consequences of these.
const errorsMax = 10

// Error is a mistake in a scenario or in a command line. The user can correct it, so the program exits with 64.
type Error struct {
	File   string // the file or the flag; may be empty
	Line   int    // from 1; 0: the whole file, or an argument
	Column int    // from 1, in characters
	Text   string // the mistake, with the offending word
	Hint   string // the nearest known word, or the known words

	err error
}

// Error returns one line: place, text and hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", e.Line, e.Column)
		}
		b.WriteByte(' ')
	}
	b.WriteString(e.Text)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the error of the file system, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Errors are the mistakes of one file, in order. errors.As finds the first *Error.
type Errors []*Error

// Error returns a line for each of the first ten.
func (es Errors) Error() string {
	var lines []string
	for _, e := range es[:min(len(es), errorsMax)] {
		lines = append(lines, e.Error())
	}
	if more := len(es) - errorsMax; more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors for errors.Is and errors.As.
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

// IsUsage reports whether the user can correct an error in a scenario or on the command line.
func IsUsage(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// asError returns nil, the only error, or Errors.
func asError(es []*Error) error {
	switch len(es) {
	case 0:
		return nil
	case 1:
		return es[0]
	}
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return Errors(es)
}
