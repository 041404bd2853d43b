package campaign

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// PageFile is the name of a campaign's page.
const PageFile = page.File

//go:embed page.tmpl.html
var markup string

//go:embed page.css
var style string

var pages = template.Must(template.New("matrix").Funcs(page.Words).Parse(markup))

// view is the data of the template.
type view struct {
	page.Parts
	*Table
	Own    template.CSS
	Key    string
	Facts  []string
	Heat   []*Row // in another order than Rows
	Groups []struct {
		Name string
		N    int
	}
	Legend  []report.Look
	Missing []string
	Odd     []struct{ Href, Name, Text string }
	From    []string
}

// page writes report.html.
func (t *Table) page(w io.Writer) error {
	v := view{
		Parts: page.Shared(), Table: t, Own: template.CSS(style), Key: report.Exits[t.ExitCode()].Color,
		Heat: t.worstFirst(), Missing: t.missing(), From: t.provenance(),
	}
	for _, outcome := range report.Outcomes() {
		v.Legend = append(v.Legend, outcome.Look())
	}
	cells, episodes, seconds := 0, 0, 0.0
	for _, r := range t.Rows {
		seconds += r.Result.DurationS
		for l := range r.Result.All() {
			if len(r.Runs) > 0 && l.Unsupported == "" {
				cells++
				episodes += l.Episodes
			}
		}
		for _, l := range r.wrong() {
			v.Odd = append(v.Odd, struct{ Href, Name, Text string }{r.cell(l).Href, r.Name + ", " + l.Lock, strings.TrimPrefix(l.Remark(), l.Lock+": ")})
		}
	}
	v.Facts = []string{t.Counts(), report.Plural(len(v.Heat), "row"), report.Plural(len(t.Locks), "lock"), report.Plural(cells, "cell") + " run",
		report.Plural(episodes, "episode") + " in all", fmt.Sprintf("seeds from %d", t.Campaign.Seed), "runs took " + report.Seconds(seconds)}
	for _, lock := range t.Locks {
		n := len(v.Groups)
		if n == 0 || v.Groups[n-1].Name != lock.Kind.String() {
			v.Groups, n = append(v.Groups, struct {
				Name string
				N    int
			}{Name: lock.Kind.String()}), n+1
		}
		v.Groups[n-1].N++
	}
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of the matrix: %w", err)
	}
	return nil
}
