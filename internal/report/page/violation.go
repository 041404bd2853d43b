package page

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
)

var (
	//go:embed violation.tmpl.html
	violationMarkup string
	//go:embed violation.css
	violationStyle string
)

var violationParts = template.Must(template.New("violation").Parse(violationMarkup))

// Violation identifies a drawing.
type Violation struct {
	Scenario, Lock, Class string
	Seed                  uint64
	Episode               int // 0: in none
}

// violationView is the data of the template.
type violationView struct {
	Violation
	Href  string
	Style template.CSS
}

// Frame writes a drawing of porcupine with a title, an explanation, a link to the report, and the style of the other
// pages. The drawing is in the folder of its lock.
func (v Violation) Frame(w io.Writer, draw func(io.Writer) error) error {
	var drawn strings.Builder
	if err := draw(&drawn); err != nil {
		return err
	}
	text := drawn.String()
	view := violationView{v, "../" + File + "#" + Anchor(v.Lock), template.CSS(violationStyle)}
	// The style comes after porcupine's, which it overrides.
	for _, part := range [][2]string{{"<title>Porcupine</title>", "head"}, {"</head>", "style"}, {"<body>", "above"}} {
		var b strings.Builder
		if err := violationParts.ExecuteTemplate(&b, part[1], view); err != nil {
			return fmt.Errorf("frame the drawing: %w", err)
		}
		before, after, found := strings.Cut(text, part[0])
		if !found {
			return errors.New("frame the drawing: it has no " + part[0])
		}
		text = before + b.String() + after
	}
	_, err := io.WriteString(w, text)
	return err
}
