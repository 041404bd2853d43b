package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Drawn is a formatted line of a counterexample; its text is one field after the other. Gap and Bracket have no use where
// lines wrap.
type Drawn struct {
	When            string // empty for the headline
	Who             string
	What, Gap, Note string
	Bracket, Number string
}

func (d Drawn) String() string {
	return d.When + d.Who + d.What + d.Gap + d.Note + d.Bracket + d.Number
}

// toldIndent is the indent of the sentences below the steps.
const toldIndent = 12

// Drawn formats a counterexample in lines of at most [ScreenWidth] columns: the headline, the steps, and the sentences.
func (c *Counterexample) Drawn() []Drawn {
	return slices.Concat([]Drawn{c.headline()}, c.steps(), c.sentences())
}

// Text is the counterexample as lines of text.
func (c *Counterexample) Text() []string { return c.narrow(ScreenWidth) }

// narrow is the text in fewer columns. Lines that are too long wrap.
func (c *Counterexample) narrow(columns int) []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, d := range c.Drawn() {
		if line := d.String(); columns >= ScreenWidth || width(line) <= columns {
			out = append(out, strings.Split(line, "\n")...)
			continue
		}
		before, text := d.When+d.Who, d.What
		if d.Note != "" {
			text += " · " + d.Note
		}
		text += " " + d.Bracket + d.Number
		const textMin = 20
		if columns-width(before) < textMin { // the name is long
			text, before = strings.TrimLeft(before, " ")+text, "   "
		}
		out = append(out, strings.Split(before+Wrap(text, width(before), columns), "\n")...)
	}
	return out
}

// headline is the title and the label, which gets its own line if it does not fit. A title that is too long is shortened
// in the name of the lock.
func (c *Counterexample) headline() Drawn {
	const nameMin = 8
	d := Drawn{What: c.Title, Note: c.Label}
	if over := width(d.What) - ScreenWidth; over > 0 {
		d.What = clipMiddle(c.Lock, max(nameMin, width(c.Lock)-over)) + strings.TrimPrefix(d.What, c.Lock)
		d.What = clipWords(d.What, ScreenWidth)
	}
	if c.Label != "" {
		d.Gap = "    "
		if width(d.What)+len(d.Gap)+width(d.Note) > ScreenWidth {
			d.Gap = "\n   "
		}
	}
	return d
}

// steps formats the lines that have a time.
func (c *Counterexample) steps() []Drawn {
	const whoMax = 20
	var stamps, whos, texts, numbers int
	lines := make([]Drawn, len(c.Lines))
	for i, l := range c.Lines {
		lines[i] = Drawn{When: Stamp(time.Duration(l.AtNS)), Who: clip(l.Who, whoMax), Note: l.Note, Number: ":" + strconv.Itoa(l.Number)}
		stamps, whos = max(stamps, width(lines[i].When)), max(whos, width(lines[i].Who))
		numbers = max(numbers, width(lines[i].Number))
	}
	room := ScreenWidth - len("     ") - stamps - whos - len("     ") - numbers // for the text
	for i, l := range c.Lines {
		note := 0
		if l.Note != "" {
			note = width(l.Note) + 2
		}
		lines[i].What = clipWords(l.What, room-note)
		texts = max(texts, width(lines[i].What)+note)
	}
	for i := range lines {
		d := &lines[i]
		d.When = fmt.Sprintf("   %*s", stamps, d.When)
		d.Who = "  " + pad(d.Who, whos) + "  "
		d.Gap = strings.Repeat(" ", texts-width(d.What)-width(d.Note))
		d.Bracket = " " + cmp.Or(c.Lines[i].Bracket, " ")
		d.Number = fmt.Sprintf(" %*s", numbers, d.Number)
	}
	return lines
}

// sentences are the reason and the harm, with line breaks in their text.
func (c *Counterexample) sentences() []Drawn {
	var lines []Drawn
	for _, told := range [][2]string{{"   Why", c.Why}, {"   Harm", c.Harm}} {
		if told[1] != "" {
			lines = append(lines, Drawn{When: pad(told[0], toldIndent), What: Wrap(told[1], toldIndent, ScreenWidth)})
		}
	}
	return lines
}
