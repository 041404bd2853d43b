package index

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// view is the data of the template.
type view struct {
	page.Parts
	Own       template.CSS
	Filter    template.JS
	Generator template.HTML
	Count     string
	Rows      []row
	Campaigns []link
	Site      *Site // nil: a file
	// The choices of the filters.
	Scenarios, Locks, Worlds, Verdicts, Outcomes []string
	Known                                        known
}

type row struct {
	entry
	Begun, Stamp         string
	Outcome, OutcomeKey  string
	Href, Name, Campaign string
	Verdicts             string // of its locks: |set-nx=violated overstay|
	Chips                []chip
}

// chip is a lock of a row. Href leads to the counterexample of a violation.
type chip struct {
	lock
	Href string
}

type link struct{ Name, Href string }

// unreadable is the outcome of a run that could not be read.
const unreadable = "cannot be read"

// write writes the page. site is nil for a file.
func (s Shelf) write(w io.Writer, site *Site) error {
	v := view{Parts: page.Shared(), Own: template.CSS(style), Filter: template.JS(script), Generator: generator,
		Count: report.Plural(len(s.runs), "run"), Known: known{format, s.runs}, Site: site}
	scenarios, names, worlds, verdicts, ends := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range s.runs {
		r := row{entry: e, Name: e.Scenario, Outcome: report.Outcomes[e.Exit].Words, OutcomeKey: report.Outcomes[e.Exit].Key}
		if e.Trouble != "" {
			r.Name, r.Outcome = e.Dir, unreadable
		} else {
			scenarios[e.Scenario], worlds[e.World] = true, true
		}
		if !e.Started.IsZero() {
			r.Begun, r.Stamp = e.Started.UTC().Format("2006-01-02 15:04"), e.Started.UTC().Format("2006-01-02T15:04:05Z")
		}
		r.Href = page.Href(path.Join(e.Dir, e.Page))
		if parts := strings.Split(e.Dir, "/"); len(parts) > 2 {
			r.Campaign = strings.Join(parts[:len(parts)-3], "/")
		}
		ends[r.Outcome] = true
		for _, l := range e.Locks {
			verdicts[l.Found], names[l.Name] = true, true
			r.Verdicts += "|" + l.Name + "=" + l.Found + "|"
			c := chip{lock: l}
			if l.Broke > 0 && !l.Calm && e.Page == page.File {
				c.Href = r.Href + "#" + page.Anchor(l.Name)
			}
			r.Chips = append(r.Chips, c)
		}
		v.Rows = append(v.Rows, r)
	}
	v.Scenarios, v.Locks, v.Worlds, v.Verdicts, v.Outcomes = choices(scenarios), choices(names), choices(worlds), choices(verdicts), choices(ends)
	for _, c := range s.campaigns {
		v.Campaigns = append(v.Campaigns, link{path.Dir(c), page.Href(c)})
	}
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the index of all runs: %w", err)
	}
	return nil
}

func choices(of map[string]bool) []string { return slices.Sorted(maps.Keys(of)) }

// choice is a filter of the list.
type choice struct {
	Name, Title string
	Values      []string
}

// Choice is the filter for one property.
func (view) Choice(name string, values []string) choice {
	return choice{name, strings.ToUpper(name[:1]) + name[1:], values}
}
