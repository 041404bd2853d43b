package page

import (
	"html/template"
	"regexp"

	"lockbench/internal/shellword"
)

// Words are the text functions of templates.
var Words = template.FuncMap{"flags": flags, "quote": shellword.Quote}

// flagForm is a flag with its value in an escaped text.
var flagForm = regexp.MustCompile(`\B--[a-z][a-z-]*(?:[ =][^\s;,]+)?`)

// flags keeps each flag of a text on one line: a browser breaks lines after hyphens.
func flags(text string) template.HTML {
	return template.HTML(flagForm.ReplaceAllString(template.HTMLEscapeString(text), `<span class="flag">$0</span>`))
}
