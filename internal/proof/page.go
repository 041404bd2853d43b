package proof

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

//go:embed page.tmpl.html
var markup string

var pages = template.Must(template.New("proof").Funcs(page.Words).Parse(markup))

// Page is what the page of a proof shows.
type Page struct {
	World, Again, Conclusion string
	Code                     int // the exit code of the proof
	Proofs                   []*Proof
	Stories                  map[string][]string // by the name of a wrong lock; may have gaps
}

// row is a wrong lock with what is said of it beside its figures.
type row struct {
	*Proof
	Bad     bool
	Story   string
	Remarks []string
}

// Save writes the page into a file.
func (p Page) Save(file string) error {
	b := report.Bundle{Dir: filepath.Dir(file)}
	return b.Write(filepath.Base(file), p.write)
}

func (p Page) write(w io.Writer) error {
	said := map[int][2]string{
		report.ExitExpected:   {"as it must be", "good"},
		report.ExitUnexpected: {"not as it must be", "bad"},
	}
	outcome, ok := said[p.Code]
	if !ok {
		outcome = [2]string{"the harness failed", "bad"}
	}
	v := struct {
		page.Parts
		Page
		Outcome, Key string
		Proofs       []row
	}{Parts: page.Shared(), Page: p, Outcome: outcome[0], Key: outcome[1]}
	for _, one := range p.Proofs {
		v.Proofs = append(v.Proofs, row{one, one.ExitCode(false) != report.ExitExpected, strings.Join(p.Stories[one.Lock], "\n"), one.Remarks()})
	}
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of a proof: %w", err)
	}
	return nil
}

// Remarks are what is to be said beside the figures.
func (p *Proof) Remarks() []string {
	var all []string
	if !p.Shown() && len(p.Found) > 0 {
		all = append(all, fmt.Sprintf("in place of %s: %s", p.Class, strings.Join(p.Found, "; ")))
	}
	if p.NotShown != "" {
		all = append(all, "not shown yet: "+p.NotShown)
	}
	if len(p.AccusedOf) > 0 {
		all = append(all, fmt.Sprintf("its twin %s was accused of: %s", p.Twin, strings.Join(p.AccusedOf, "; ")))
	}
	return append(all, p.Failed...)
}
