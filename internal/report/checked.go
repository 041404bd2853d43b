package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"lockbench/checker"
)

// Checked writes the verdict on one history, that of each checker, and the counterexample, for `lockbench check`.
func Checked(w io.Writer, file string, l *Lock) error {
	const indent = 2
	columns := TerminalWidth(w)
	var b bytes.Buffer
	line := func(before string, parts ...string) {
		if wide := before + strings.Join(parts, "  "); width(wide) <= columns || columns >= ScreenWidth {
			b.WriteString(wide + "\n")
			return
		}
		for _, part := range wrap(strings.Join(parts, " · "), columns-len(before)) {
			b.WriteString(before + part + "\n")
		}
	}
	head := []string{cmp.Or(Printable(l.Lock), "history"), l.Found()}
	if l.Episodes > 1 || l.ViolatingEpisodes > 0 {
		head = append(head, fmt.Sprintf("%d of %d episodes", l.ViolatingEpisodes, l.Episodes))
	}
	line("", append(head, Printable(file))...)
	for _, c := range l.Checks {
		said := c.Verdict.String()
		switch {
		case c.Verdict == checker.Violated:
			said += ": " + Plural(c.Violations, "finding")
		case c.Why != "":
			said += ": " + OneLine(c.Why)
		case c.Note != "":
			said += " (" + OneLine(c.Note) + ")"
		}
		line("  ", pad(c.Name, 12), said)
		if note := OneLine(c.Note); note != "" && c.Verdict == checker.Violated {
			line("  ", pad("", 12), note)
		}
	}
	if l.Counterexample != nil {
		shown := l.Counterexample.Text()
		if columns < ScreenWidth {
			shown = l.Counterexample.narrow(columns - indent)
		}
		for _, line := range shown {
			fmt.Fprintf(&b, "%*s%s\n", indent, "", line)
		}
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}
