package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrap breaks a text between words. Words that are too long stay whole, so that paths can be copied.
func wrap(text string, widthMax int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= widthMax:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Wrap breaks a text between words into lines. The caller writes the indent of the first line.
func Wrap(text string, indent, columns int) string {
	return strings.Join(wrap(text, columns-indent), "\n"+strings.Repeat(" ", indent))
}

// width counts runes. lockbench writes only runes of one column.
func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, to int) string {
	return s + strings.Repeat(" ", max(0, to-width(s)))
}

// clip cuts a text to a width and marks the cut.
func clip(s string, widthMax int) string {
	if width(s) <= widthMax {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:max(widthMax-1, 0)]), " ") + "…"
}

// OneLine makes a text of a guest or server safe for one line of a terminal: it removes escape sequences.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError:
			return '?'
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// quoteKey quotes the name of a key.
func quoteKey(key string) string {
	return clip(strconv.Quote(key), 24)
}

// Printable escapes characters that could control a terminal, but keeps line breaks.
func Printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r < utf8.RuneSelf && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.In(r, unicode.Cc, unicode.Cf):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

// clipWords cuts a sentence at the end of a word, unless that loses more than half of the width.
func clipWords(s string, widthMax int) string {
	cut := clip(s, widthMax)
	if cut == s {
		return s
	}
	kept := []rune(strings.TrimSuffix(cut, "…"))
	if []rune(s)[len(kept)] == ' ' {
		return cut
	}
	for i := len(kept) - 1; i > widthMax/2; i-- {
		if kept[i] == ' ' {
			return string(kept[:i]) + " …"
		}
	}
	return cut
}

// clipMiddle cuts a name in the middle: redlock/nodes=3 and redlock/nodes=5 differ
// at the end, redlock and redisson at the beginning.
func clipMiddle(s string, widthMax int) string {
	if width(s) <= widthMax || widthMax < 3 {
		return clip(s, widthMax)
	}
	return cutOut(s, widthMax, (widthMax-1)/2)
}

// cutOut cuts a name that is too long to a width and keeps a tail of it.
func cutOut(s string, widthMax, tail int) string {
	runes := []rune(s)
	if len(runes) <= widthMax {
		return s
	}
	return string(runes[:widthMax-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// clipNames cuts the first cells of rows to a width if they then still differ. It keeps the longest beginning, at least
// half of the width, because a name begins with its lock, as in redisson/synced-slaves=off.
func clipNames(rows [][]string, widthMax int) bool {
	for tail := range widthMax / 2 {
		names, from := make([]string, len(rows)), map[string]string{}
		differ := true
		for i, row := range rows {
			names[i] = cutOut(row[0], widthMax, wordTail(row[0], tail, (widthMax-1)/2))
			other, taken := from[names[i]]
			differ = differ && (!taken || other == row[0])
			from[names[i]] = row[0]
		}
		if differ {
			for i := range rows {
				rows[i][0] = names[i]
			}
			return true
		}
	}
	return false
}

// wordTail lengthens the tail of a name to the beginning of a value or an option, if it is at most most characters then.
func wordTail(s string, tail, most int) int {
	runes := []rune(s)
	for longer := tail; tail > 0 && longer <= min(most, len(runes)); longer++ {
		if first := runes[len(runes)-longer]; first == '=' || first == '/' {
			return longer
		}
	}
	return tail
}
