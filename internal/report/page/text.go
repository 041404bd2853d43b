package page

import (
	"html/template"
	"regexp"
	"strings"
)

// Words are the functions that templates set texts with.
var Words = template.FuncMap{"flags": flags}

// flagForm is a flag with the word after it, in a text that is escaped already.
var flagForm = regexp.MustCompile(`--[a-z][a-z-]*(?:[ =][^\s;,]+)?`)

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

// storyPart is text, or the bracket that joins lines, of which nothing is left where they wrap.
type storyPart struct {
	Text string
	Rail bool
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
			last.Parts = append(last.Parts, partsOf("\n"+line)...)
		case told != nil:
			all = append(all, storyLine{When: told[1], Parts: partsOf(told[2])})
		default:
			all = append(all, storyLine{Parts: partsOf(line)})
		}
	}
	return all
}

func partsOf(text string) []storyPart {
	var all []storyPart
	for text != "" {
		i := strings.IndexAny(text, rails)
		if i < 0 {
			return append(all, storyPart{Text: text})
		}
		if i > 0 {
			all = append(all, storyPart{Text: text[:i]})
		}
		n := len("┐")
		all = append(all, storyPart{Text: text[i : i+n], Rail: true})
		text = text[i+n:]
	}
	return all
}
