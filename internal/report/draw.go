package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How rows of a story become lines of text.

// tellMax is how wide the telling of rows that are put together may become.
const tellMax = 62

// joinRows puts neighbours of the same client on one line: "writes 18, releases".
func joinRows(rows []row) []row {
	var joined []row
	for _, r := range rows {
		if n := len(joined) - 1; n >= 0 && r.joins && joined[n].who == r.who && joined[n].note == "" && r.note == "" &&
			joined[n].weight != cause && joined[n].bracket != '┐' && width(joined[n].what)+width(r.what)+2 <= tellMax {
			joined[n].what += ", " + r.what
			joined[n].weight = min(joined[n].weight, r.weight)
			if r.bracket == '┘' {
				joined[n].bracket = '┘'
			}
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// keepRows leaves out what the story can best do without, until it is short
// enough; among equals what is farther from the end goes first.
func keepRows(rows []row, rowsMax int) []row {
	for len(rows) > max(rowsMax, 2) {
		least := 0
		for i := range rows {
			if rows[i].weight > rows[least].weight {
				least = i
			}
		}
		if rows[least].bracket == '┘' { // the bracket still has to end
			for i := least - 1; i >= 0 && rows[i].bracket != 0; i-- {
				if rows[i].bracket == '│' {
					rows[i].bracket = '┘'
					break
				}
				if rows[i].bracket == '┤' {
					break
				}
			}
		}
		rows = append(rows[:least:least], rows[least+1:]...)
	}
	return rows
}

func drawRows(rows []row) []string {
	const whoMax = 20
	var stamps, whos, tells, numbers int
	for i := range rows {
		r := &rows[i]
		r.who = clip(r.who, whoMax)
		stamps = max(stamps, width(r.time))
		whos = max(whos, width(r.who))
		numbers = max(numbers, len(strconv.Itoa(r.line)))
	}
	// What is left of a screen beside moment, who, bracket and number.
	room := ScreenWidth - 3 - stamps - 2 - whos - 2 - 3 - 1 - numbers
	for i := range rows {
		r := &rows[i]
		note := width(r.note)
		if note > 0 {
			note += 2
		}
		r.what = clip(r.what, room-note)
		tells = max(tells, width(r.what)+note)
	}
	lines := make([]string, 0, len(rows))
	for _, r := range rows {
		bracket := " "
		if r.bracket != 0 {
			bracket = string(r.bracket)
		}
		fill := tells - width(r.what) - width(r.note)
		lines = append(lines, fmt.Sprintf("   %*s  %s  %s%s%s %s %*s",
			stamps, r.time, pad(r.who, whos), r.what, strings.Repeat(" ", fill), r.note, bracket, numbers+1, ":"+strconv.Itoa(r.line)))
	}
	return lines
}

// toldIndent is where sentences below the rows stand.
const toldIndent = 12

// wrapTold writes "Why" or "Harm" with its sentence below the rows, on as many
// lines as it takes.
func wrapTold(word, sentence string) []string {
	if sentence == "" {
		return nil
	}
	const indent = toldIndent
	lines := wrap(sentence, ScreenWidth-indent)
	for i := range lines {
		if i > 0 {
			word = ""
		}
		lines[i] = "   " + pad(word, indent-3) + lines[i]
	}
	return lines
}

// Lines of a story: a row begins with a moment and with who did something, and what is told
// below the rows begins with a word.
var (
	rowLine  = regexp.MustCompile(`^( +\d+\.\d+ s  .+?  +)(.*)$`)
	toldLine = regexp.MustCompile(`^(   [A-Z]\w* +)(.*)$`)
	// apart is the gap before a note, which stands to the right where there is space.
	apart = regexp.MustCompile(`  +([^ ┐│┤┘:])`)
)

// reflow breaks the lines of a story, which is laid out for ScreenWidth, where there are
// fewer columns. The text of a row goes on below itself.
func reflow(lines []string, widthMax int) []string {
	if widthMax >= ScreenWidth {
		return lines
	}
	var whole, out []string
	for _, line := range lines {
		// A sentence that was broken is put together first.
		if n := len(whole) - 1; n >= 0 && toldLine.MatchString(whole[n]) && strings.HasPrefix(line, strings.Repeat(" ", toldIndent)) {
			whole[n] += " " + strings.TrimSpace(line)
			continue
		}
		whole = append(whole, line)
	}
	for _, line := range whole {
		if width(line) <= widthMax {
			out = append(out, line)
			continue
		}
		text := strings.TrimLeft(line, " ")
		before := line[:len(line)-len(text)]
		for _, form := range []*regexp.Regexp{rowLine, toldLine} {
			if m := form.FindStringSubmatch(line); m != nil {
				before, text = m[1], m[2]
				break
			}
		}
		const textMin = 20
		if widthMax-width(before) < textMin { // as for a row of a long name
			text, before = strings.TrimLeft(line, " "), "   "
		}
		text = apart.ReplaceAllString(text, " · $1")
		for i, part := range wrap(text, widthMax-width(before)) {
			if i > 0 {
				before = strings.Repeat(" ", width(before))
			}
			out = append(out, before+part)
		}
	}
	return out
}

// wrap breaks a text between words. A word longer than a line stays whole: it is a
// path or a command, which one wants to copy.
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

// width counts runes: what lockbench itself writes is one column wide each.
func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, to int) string {
	return s + strings.Repeat(" ", max(0, to-width(s)))
}

// clip cuts a text to a width and shows that it did.
func clip(s string, widthMax int) string {
	if width(s) <= widthMax {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:max(widthMax-1, 0)]), " ") + "…"
}

// oneLine makes any text fit for a line of a terminal: guests and servers write
// what they like, and an escape sequence of theirs must not reach the screen.
func oneLine(s string) string {
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

// quoteKey writes the name of a lock's key.
func quoteKey(key string) string {
	return clip(strconv.Quote(key), 24)
}
