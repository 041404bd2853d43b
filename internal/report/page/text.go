package page

import (
	"html/template"
	"regexp"
	"strings"

	"lockbench/internal/shellword"
)

// Words are the functions that templates set texts with.
var Words = template.FuncMap{"flags": flags, "quote": shellword.Quote}

// flagForm is a flag with the word after it, in a text that is escaped already.
var flagForm = regexp.MustCompile(`\B--[a-z][a-z-]*(?:[ =][^\s;,]+)?`)

// flags keeps each flag of a text on one line: a browser breaks lines after hyphens.
func flags(text string) template.HTML {
	return template.HTML(flagForm.ReplaceAllString(template.HTMLEscapeString(text), `<span class="flag">$0</span>`))
}

// storyLine is a line of a story, so that a narrow screen wraps what is told and not the
// time beside it. Its parts together are the line to the letter.
type storyLine struct {
	When  string // empty for the headline
	Parts []storyPart
}

// storyPart is text; or a gap before a note, or the bracket that joins lines, neither of
// which is of use where lines wrap.
type storyPart struct {
	Text string
	Kind string // "", gap, rail
}

const rails = "┐│┤┘"

// storyForm is a moment, or what stands in its place, and what is told of it.
var storyForm = regexp.MustCompile(`^( +\S+(?: s)?)(  .*)$`)

// storyLines reads the lines of a story. One that only goes on with the sentence above
// belongs to that line.
func storyLines(lines []string) []storyLine {
	var all []storyLine
	for i, line := range lines {
		told := storyForm.FindStringSubmatch(line)
		goesOn := told == nil && strings.HasPrefix(line, " ")
		switch {
		case i > 0 && goesOn:
			last := &all[len(all)-1]
			last.Parts = append(last.Parts, partsOf("\n"+line, 2)...)
		case told != nil:
			all = append(all, storyLine{When: told[1], Parts: partsOf(told[2], 2)})
		default:
			all = append(all, storyLine{Parts: partsOf(line, 0)})
		}
	}
	return all
}

// gapForm is a run of blanks and what comes after it.
var gapForm = regexp.MustCompile(` {2,}`)

// partsOf splits a text at the bracket and before what is noted beside it: blanks set that
// apart on a wide screen.
func partsOf(text string, from int) []storyPart {
	var all []storyPart
	add := func(p storyPart) {
		if p.Text != "" {
			all = append(all, p)
		}
	}
	done := 0
	for i, gap := range gapForm.FindAllStringIndex(text, -1) {
		if rest := text[gap[1]:]; i >= from && rest != "" && !strings.ContainsAny(rest[:1], ":") && !strings.ContainsRune(rails, []rune(rest)[0]) {
			add(storyPart{Text: text[done:gap[0]]})
			add(storyPart{Text: text[gap[0]:gap[1]], Kind: "gap"})
			done = gap[1]
		}
	}
	text = text[done:]
	if i := strings.IndexAny(text, rails); i >= 0 {
		const n = len("┐")
		add(storyPart{Text: text[:i]})
		add(storyPart{Text: text[i : i+n], Kind: "rail"})
		text = text[i+n:]
	}
	add(storyPart{Text: text})
	return all
}
