package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"lockbench/checker"
)

// Checked writes what the judge says of one history, for `lockbench check`: the
// verdict, what each checker found, and the story of the violation worth telling.
func Checked(w io.Writer, file string, l *Lock, story []string) error {
	var b bytes.Buffer
	name := Printable(l.Lock)
	if name == "" {
		name = "history"
	}
	fmt.Fprintf(&b, "%s  %s", name, l.Found())
	if l.Episodes > 1 || l.ViolatingEpisodes > 0 {
		fmt.Fprintf(&b, "  %d of %d episodes", l.ViolatingEpisodes, l.Episodes)
	}
	fmt.Fprintf(&b, "  %s\n", Printable(file))
	for _, c := range l.Checks {
		switch {
		case c.Verdict == checker.Violated:
			fmt.Fprintf(&b, "  %-12s %s: %s\n", c.Name, c.Verdict, plural(c.Violations, "finding"))
			if c.Note != "" {
				fmt.Fprintf(&b, "  %-12s %s\n", "", oneLine(c.Note))
			}
		case c.Why != "":
			fmt.Fprintf(&b, "  %-12s %s: %s\n", c.Name, c.Verdict, oneLine(c.Why))
		case c.Note != "":
			fmt.Fprintf(&b, "  %-12s %s (%s)\n", c.Name, c.Verdict, oneLine(c.Note))
		default:
			fmt.Fprintf(&b, "  %-12s %s\n", c.Name, c.Verdict)
		}
	}
	const indent = 2
	columns := TerminalWidth(w)
	if columns < ScreenWidth {
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		b.Reset()
		b.WriteString(strings.Join(reflow(lines, columns), "\n") + "\n")
		story = reflow(story, columns-indent)
	}
	for _, line := range story {
		fmt.Fprintf(&b, "%*s%s\n", indent, "", line)
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}
