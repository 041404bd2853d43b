package report

import (
	"io"
	"os"
	"strconv"

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

// columnsMin is the least that a width is taken for: below it lines would have no room for words.
const columnsMin = 30

// TerminalWidth is how many columns w has, at most ScreenWidth: what COLUMNS says, as users
// and terminals set it, else the size of the terminal, else ScreenWidth. What is no file has
// no columns.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return ScreenWidth
	}
	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || columns <= 0 {
		if columns, _, err = term.GetSize(int(f.Fd())); err != nil || columns <= 0 {
			return ScreenWidth
		}
	}
	return max(columnsMin, min(columns, ScreenWidth))
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
