package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// errorsMax is how many problems of one file are told at once: more than that
// are rarely independent of each other.
const errorsMax = 10

// Error is something wrong with a scenario, or with an argument that changes
// one: the person's to mend, and so wrong usage.
type Error struct {
	File   string // the file, or the flag; empty if neither is concerned
	Line   int    // from 1; 0: the whole file, or an argument
	Column int    // from 1, in characters; 0: unknown
	Text   string // what is wrong, with the offending word
	Hint   string // what was probably meant, or what is known

	source string // the line itself
	width  int    // of the offending word, in characters
	err    error
}

// Error shows place, text and hint in one line, and the source beneath it as a
// compiler does.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		b.WriteByte(':')
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:", e.Line)
		}
		if e.Column > 0 {
			fmt.Fprintf(&b, "%d:", e.Column)
		}
		b.WriteByte(' ')
	}
	b.WriteString(e.Text)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	if e.source != "" && e.Column > 0 {
		gutter := "     | "
		if e.Line > 0 {
			gutter = fmt.Sprintf("%4d | ", e.Line)
		}
		fmt.Fprintf(&b, "\n%s%s\n     | %s%s", gutter, strings.TrimRight(e.source, " \t"), indent(e.source, e.Column-1), strings.Repeat("^", max(1, e.width)))
	}
	return b.String()
}

// Unwrap is the error of the file system, if it is one.
func (e *Error) Unwrap() error { return e.err }

// Errors are all that was found wrong, in the order of the file. errors.As finds
// the first *Error in it.
type Errors []*Error

// Error shows each of them, the first ten at most.
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

// Unwrap lists them for errors.Is and errors.As.
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

var (
	_ error = (*Error)(nil)
	_ error = Errors(nil)
)

// IsUsage tells whether an error is the person's to mend in a scenario or on the
// command line.
func IsUsage(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

// asError is nil for none, the error itself for one, and Errors for more.
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

// indent is as wide as the first n characters of line: tabs stay tabs, so that
// the caret stands right whatever a terminal makes of them.
func indent(line string, n int) string {
	var b strings.Builder
	for _, r := range line {
		if n--; n < 0 {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteString(strings.Repeat(" ", max(0, n)))
	return b.String()
}
