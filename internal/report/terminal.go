package report

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// ScreenWidth is the maximum width of output for a terminal. Longer lines are hard to read.
const ScreenWidth = 100

// IsTerminal reports whether w is a terminal that understands escape sequences.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(descriptor)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// descriptor is implemented by files and by writers to one file.
type descriptor interface{ Fd() uintptr }

// UseColor reports whether output to w is coloured: w is a terminal, and NO_COLOR is not set.
func UseColor(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == ""
}

// columnsMin is the least width that is used.
const columnsMin = 30

// TerminalWidth is the number of columns of w, at most ScreenWidth: COLUMNS if it is set, else the size of the
// terminal. If w is not a terminal, it is ScreenWidth.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(descriptor)
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

// paint is the code of a colour. Colours repeat the information of the words.
type paint string

const (
	noPaint paint = ""
	red     paint = "31"
	green   paint = "32"
	yellow  paint = "33"
	bold    paint = "1"
	dim     paint = "2"
)

// on colours a text if color is set.
func (p paint) on(text string, color bool) string {
	if !color || p == noPaint || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}
