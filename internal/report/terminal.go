package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// ScreenWidth is how wide anything written for a terminal may be. Wider terminals
// are not filled: a table is read by columns, and a sentence by lines.
const ScreenWidth = 100

// IsTerminal tells whether somebody may be looking at w as it is written.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// UseColor tells whether w should be coloured: a terminal, and nobody said NO_COLOR.
func UseColor(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == ""
}

// TerminalWidth is how many columns w has, at most ScreenWidth; and ScreenWidth if
// that cannot be told.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return min(columns, ScreenWidth)
		}
	}
	return ScreenWidth
}

// paint is a colour, as a terminal is told of it. A colour never says anything that
// the words beside it do not.
type paint string

const (
	noPaint paint = ""
	red     paint = "31"
	green   paint = "32"
	yellow  paint = "33"
	bold    paint = "1"
	dim     paint = "2"
)

// on colours a text, if there are colours.
func (p paint) on(text string, color bool) string {
	if !color || p == noPaint || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}
