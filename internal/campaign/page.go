package campaign

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

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
	table
	Own     template.CSS
	Outcome string
	Key     string
	Facts   []string
	Again   string
	Groups  []groupView
	Legend  []report.Look
	NotRun  []string
	Odd     []oddView
	From    []string
	Runs    []runsView
}

// groupView is the heading of adjacent columns.
type groupView struct {
	Name string
	N    int
}

// oddView is a cell that is not as expected, with the reason.
type oddView struct{ Href, Name, Text string }

// runsView are the runs of a row.
type runsView struct {
	Scenario string
	Ran      []runLink
}

type runLink struct {
	Ran
	Href string
}

// page writes report.html.
func (c *Campaign) page(w io.Writer) error {
	rows := c.lines()
	v := view{
		Parts: page.Shared(), table: c.table(rows), Own: template.CSS(style), Outcome: c.Outcome(), Key: report.Exits[c.ExitCode()].Color,
		Again: c.Again, NotRun: c.notRun(), From: c.provenance(),
	}
	for _, outcome := range report.Outcomes() {
		v.Legend = append(v.Legend, outcome.Look())
	}
	cells, episodes, seconds := 0, 0, 0.0
	for _, r := range rows {
		for l := range r.Result.All() {
			if len(r.Runs) > 0 && l.Unsupported == "" {
				cells++
				episodes += l.Episodes
			}
		}
		for _, l := range r.wrong() {
			v.Odd = append(v.Odd, oddView{c.cellOf(r, l).Href, r.name + ", " + l.Lock, strings.TrimPrefix(l.Remark(), l.Lock+": ")})
		}
		seconds += r.Result.DurationS
		runs := runsView{Scenario: r.name}
		for _, ran := range r.Runs {
			runs.Ran = append(runs.Ran, runLink{ran, c.href(ran, "")})
		}
		v.Runs = append(v.Runs, runs)
	}
	v.Facts = []string{c.Counts(), report.Plural(len(rows), "row"), report.Plural(len(v.Locks), "lock"), report.Plural(cells, "cell") + " run",
		report.Plural(episodes, "episode") + " in all", fmt.Sprintf("seeds from %d", c.Seed), "runs took " + report.Seconds(seconds)}
	for _, lock := range v.Locks {
		if n := len(v.Groups); n == 0 || v.Groups[n-1].Name != lock.Kind.String() {
			v.Groups = append(v.Groups, groupView{Name: lock.Kind.String()})
		}
		v.Groups[len(v.Groups)-1].N++
	}
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of the matrix: %w", err)
	}
	return nil
}

// provenance describes the origin of the campaign and of the runs in each world.
func (c *Campaign) provenance() []string {
	all := []string{"begun " + stamp(c.Started), c.Program, c.Machine}
	for _, w := range c.Worlds {
		about := []string{"world " + w.World, w.About, w.Machine, strings.Join(w.Programs, "; ")}
		if !w.Started.IsZero() {
			about = append(about, "begun "+stamp(w.Started))
		}
		all = append(all, strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), " · "))
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
