package site

import (
	_ "embed"
	"html/template"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

var (
	//go:embed runs.tmpl.html
	runsMarkup string
	//go:embed runs.css
	runsStyle string
	//go:embed runs.js
	runsScript string
)

var runsPage = template.Must(template.New("runs").Funcs(page.Words).Funcs(words).Parse(runsMarkup))

// words are the text functions of the template.
var words = template.FuncMap{"plural": report.Plural, "href": page.Href}

// runsView is the data of the page of all runs.
type runsView struct {
	page.Parts
	Own       template.CSS
	Filter    template.JS
	Runs      []entry // those that are not part of a matrix
	Total     int     // of all runs
	Campaigns []campaignView
	Open      []openRun
}

// campaignView is a matrix with its runs.
type campaignView struct {
	Dir  string
	Page bool // it has a page
	Runs []entry
	Exit int
}

// openRun is a run without a result.
type openRun struct {
	Scenario, Name, Dir, Href string
	Gone                      bool // no process works on it
}

// runs is the page of all runs.
func (s *Site) runs(w http.ResponseWriter, _ *http.Request) {
	now, err := s.scan()
	if err != nil {
		s.fail(w, err)
		return
	}
	v := runsView{Parts: page.Shared(), Own: template.CSS(runsStyle), Filter: template.JS(runsScript), Total: len(now.runs)}
	v.Runs, v.Campaigns = now.grouped()
	for i := range v.Campaigns {
		s.judge(&v.Campaigns[i])
	}
	for _, dir := range now.open {
		v.Open = append(v.Open, openRun{path.Base(path.Dir(dir)), path.Base(dir), filepath.Join(s.o.Root, filepath.FromSlash(dir)),
			page.Href(path.Join(dir, page.File)), !s.claimed(dir)})
	}
	slices.SortFunc(v.Open, func(a, b openRun) int { return strings.Compare(b.Name, a.Name) })
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = runsPage.Execute(w, v) // the client may be gone
}

// grouped returns the runs that are not part of a matrix, and those of each matrix, the newest first.
func (s *runList) grouped() (alone []entry, all []campaignView) {
	for _, e := range s.runs {
		dir := e.Campaign()
		if dir == "" {
			alone = append(alone, e)
			continue
		}
		i := slices.IndexFunc(all, func(c campaignView) bool { return c.Dir == dir })
		if i < 0 {
			i = len(all)
			all = append(all, campaignView{Dir: dir})
		}
		all[i].Runs = append(all[i].Runs, e)
	}
	for _, dir := range s.campaigns {
		if i := slices.IndexFunc(all, func(c campaignView) bool { return c.Dir == dir }); i >= 0 {
			all[i].Page = true
		} else {
			all = append(all, campaignView{Dir: dir, Page: true})
		}
	}
	return alone, all
}

// Outcome is the outcome of the matrix.
func (c campaignView) Outcome() report.Exit { return report.Exits[c.Exit] }

// Href is the page of the run.
func (e entry) Href() string { return page.Href("/" + path.Join(e.Dir, e.Page)) }

// LockHref is the part of a lock on the page of the run, if it has one.
func (e entry) LockHref(l lock) string {
	if e.Page != page.File {
		return e.Href()
	}
	return e.Href() + "#" + page.Anchor(l.Name)
}

// Campaign is the folder of the campaign of the run; empty if it is not part of one.
func (e entry) Campaign() string {
	parts := strings.Split(e.Dir, "/")
	return strings.Join(parts[:max(0, len(parts)-3)], "/")
}

// Outcome is the outcome of the run.
func (e entry) Outcome() report.Exit { return report.Exits[e.Exit] }
