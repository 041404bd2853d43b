package history

import "fmt"

// Malformed reports a line that breaks a rule of the format. It is an error of the input
// and not a verdict on a lock.
type Malformed struct {
	Line int    // from 1; the header is line 1
	Rule string // a word for the rule: time, outstanding, retired, ...
	Text string // the operation, its mistake, and what was expected

	cutOff bool // the line ends in the middle of its object: the last one may, when its writer was killed
}

var _ error = (*Malformed)(nil)

func (m *Malformed) Error() string { return fmt.Sprintf("line %d: %s", m.Line, m.Text) }

// Malform makes the error of a line. Readers of other programs' files use it, too.
func Malform(line int, rule, format string, args ...any) *Malformed {
	return &Malformed{Line: line, Rule: rule, Text: fmt.Sprintf(format, args...)}
}
