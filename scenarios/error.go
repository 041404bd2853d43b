package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

func wrong(hint, format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...), Hint: hint}
}

// IsUsage reports whether the user can correct an error in a scenario or on the command line.
func IsUsage(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// joined returns the mistakes of one file as one error in their order in the file, or nil.
func joined(es []*Error) error {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errors.Join(errs...)
}
