package page

import (
	"html/template"
	"regexp"

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
