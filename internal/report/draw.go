package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// tellMax is the maximum width of rows that are joined.
const tellMax = 62

// joinRows joins neighbours of the same client into one line: "writes 18, releases".
func joinRows(rows []row) []row {
	var joined []row
	for _, r := range rows {
		if n := len(joined) - 1; n >= 0 && r.joins && joined[n].who == r.who && joined[n].note == "" && r.note == "" &&
			joined[n].weight != cause && joined[n].bracket != "┐" && width(joined[n].what)+width(r.what)+2 <= tellMax {
			joined[n].what += ", " + r.what
			joined[n].weight = min(joined[n].weight, r.weight)
			if r.bracket == "┘" {
				joined[n].bracket = "┘"
			}
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// keepRows removes the least important rows until the story is short enough, the earlier of equals first.
func keepRows(rows []row, rowsMax int) []row {
	for len(rows) > max(rowsMax, 2) {
		least := 0
		for i := range rows {
			if rows[i].weight > rows[least].weight {
				least = i
			}
		}
		if rows[least].bracket == "┘" { // the bracket still has to end
			for i := least - 1; i >= 0 && rows[i].bracket != ""; i-- {
				if rows[i].bracket == "│" {
					rows[i].bracket = "┘"
					break
				}
				if rows[i].bracket == "┤" {
					break
				}
			}
		}
		rows = append(rows[:least:least], rows[least+1:]...)
	}
	return rows
}

// Drawn is a formatted line of a counterexample.
type Drawn struct {
	When  string // empty for the headline
	Who   string
	Parts []Part
}

// Part is text, a gap before a note, or a piece of the bracket that joins lines. Gaps and brackets have no use where
// lines wrap.
type Part struct {
	Text string
	Kind string // "", gap, rail
}

func (d Drawn) String() string {
	var b strings.Builder
	b.WriteString(d.When + d.Who)
	for _, p := range d.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// folded is the text without time and name, for lines that wrap.
func (d Drawn) folded() string {
	var b strings.Builder
	for _, p := range d.Parts {
		if p.Kind == "gap" {
			p.Text = " · "
		}
		b.WriteString(p.Text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// headlineIndent is the space for the screen's "First violation".
const headlineIndent = 18

// Drawn formats a counterexample in lines of at most [ScreenWidth] columns. Sentences have line breaks in their
// text.
func (c *Counterexample) Drawn() []Drawn {
	rows := c.rows()
	lines := append([]Drawn{c.headline(rows)}, rows...)
	for _, told := range [][2]string{{"Why", c.Why}, {"Harm", c.Harm}} {
		if text := wrapTold(told[0], told[1]); text != nil {
			when := "   " + told[0]
			lines = append(lines, Drawn{When: when, Parts: []Part{{Text: strings.TrimPrefix(strings.Join(text, "\n"), when)}}})
		}
	}
	return lines
}

// Text is the counterexample as lines of text.
func (c *Counterexample) Text() []string {
	if c == nil {
		return nil
	}
	var lines []string
	for _, d := range c.Drawn() {
		lines = append(lines, strings.Split(d.String(), "\n")...)
	}
	return lines
}

// headline aligns the label with the right edge of the lines below.
func (c *Counterexample) headline(below []Drawn) Drawn {
	const gapMin = 4
	title, label := c.Title, c.Label
	if c.Label == "" {
		return Drawn{Parts: []Part{{Text: clip(title, ScreenWidth)}}}
	}
	if over := width(title) + gapMin + width(label) - ScreenWidth; over > 0 {
		const nameMin = 8
		name := clipMiddle(c.Lock, max(nameMin, width(c.Lock)-over))
		title = clip(name+strings.TrimPrefix(title, c.Lock), ScreenWidth-gapMin-width(label))
	}
	gap := gapMin
	for _, line := range below {
		gap = max(gap, width(line.String())-width(title)-width(label)-headlineIndent)
	}
	gap = max(gapMin, min(gap, ScreenWidth-headlineIndent-width(title)-width(label)))
	return Drawn{Parts: []Part{{Text: title}, {strings.Repeat(" ", gap), "gap"}, {Text: label}}}
}

// rows formats the lines that have a time.
func (c *Counterexample) rows() []Drawn {
	const whoMax = 20
	var stamps, whos, tells, numbers int
	stamp := func(l Line) string { return Stamp(time.Duration(l.AtNS)) }
	who := func(l Line) string { return clip(l.Who, whoMax) }
	for _, l := range c.Lines {
		stamps = max(stamps, width(stamp(l)))
		whos = max(whos, width(who(l)))
		numbers = max(numbers, len(strconv.Itoa(l.Number)))
	}
	// The room for the text is the width without time, name, bracket and number.
	room := ScreenWidth - 3 - stamps - 2 - whos - 2 - 3 - 1 - numbers
	note := func(l Line) int {
		if l.Note == "" {
			return 0
		}
		return width(l.Note) + 2
	}
	what := func(l Line) string { return clip(l.What, room-note(l)) }
	for _, l := range c.Lines {
		tells = max(tells, width(what(l))+note(l))
	}
	lines := make([]Drawn, 0, len(c.Lines))
	for _, l := range c.Lines {
		d := Drawn{When: fmt.Sprintf("   %*s", stamps, stamp(l)), Who: "  " + pad(who(l), whos) + "  "}
		fill := strings.Repeat(" ", tells-width(what(l))-width(l.Note))
		if l.Note == "" {
			d.Parts = []Part{{Text: what(l) + fill + " "}}
		} else {
			d.Parts = []Part{{Text: what(l)}, {fill, "gap"}, {Text: l.Note + " "}}
		}
		if l.Bracket == "" {
			d.Parts = append(d.Parts, Part{Text: " "})
		} else {
			d.Parts = append(d.Parts, Part{l.Bracket, "rail"})
		}
		d.Parts = append(d.Parts, Part{Text: fmt.Sprintf(" %*s", numbers+1, ":"+strconv.Itoa(l.Number))})
		lines = append(lines, d)
	}
	return lines
}

// toldIndent is the indent of the sentences below the rows.
const toldIndent = 12

// wrapTold writes "Why" or "Harm" with its sentence.
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

// narrow is the text in fewer columns. Lines that are too long wrap.
func (c *Counterexample) narrow(columns int) []string {
	if columns >= ScreenWidth {
		return c.Text()
	}
	var out []string
	for _, d := range c.Drawn() {
		before, text := d.When+d.Who, d.folded()
		if d.When != "" && d.Who == "" {
			before = pad(d.When, toldIndent)
		} else if line := d.String(); width(line) <= columns {
			out = append(out, line)
			continue
		}
		const textMin = 20
		if columns-width(before) < textMin { // the name is long
			text, before = strings.TrimLeft(d.When, " ")+d.Who+text, "   "
		}
		for i, part := range wrap(text, columns-width(before)) {
			if i > 0 {
				before = strings.Repeat(" ", width(before))
			}
			out = append(out, before+part)
		}
	}
	return out
}

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
