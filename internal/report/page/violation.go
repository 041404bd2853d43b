package page

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
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
	Href string
}

// Frame writes a drawing of porcupine with a title, an explanation, a link to the report, and the style of the other
// pages. The drawing is in the folder of its lock.
func (v Violation) Frame(w io.Writer, draw func(io.Writer) error) error {
	var drawn bytes.Buffer
	if err := draw(&drawn); err != nil {
		return err
	}
	text := drawn.Bytes()
	view := violationView{v, "../" + File + "#" + Anchor(v.Lock)}
	for _, part := range []struct{ at, name string }{{"<title>Porcupine</title>", "head"}, {"<body>", "above"}} {
		var b bytes.Buffer
		if err := violationParts.ExecuteTemplate(&b, part.name, view); err != nil {
			return fmt.Errorf("frame the drawing: %w", err)
		}
		before, after, found := bytes.Cut(text, []byte(part.at))
		if !found {
			return errors.New("frame the drawing: it has no " + part.at)
		}
		text = bytes.Join([][]byte{before, b.Bytes(), after}, nil)
	}
	// The style comes after porcupine's, which it overrides.
	at := bytes.Index(text, []byte("</head>"))
	if at < 0 {
		return errors.New("frame the drawing: it has no </head>")
	}
	_, err := w.Write(bytes.Join([][]byte{text[:at], []byte("<style>" + violationStyle + "</style>\n"), text[at:]}, nil))
	return err
}
