package site

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/index"
	"lockbench/internal/report/page"
)

// locks is the page of all locks over time.
func (s *Site) locks(w http.ResponseWriter, _ *http.Request) {
	shelf, err := s.look()
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v := newTrends(shelf, "Locks", "lockbench · results folder")
	v.Served = true
	_ = pages.Execute(w, v) // the client may be gone
}

// Nights writes the page of all locks over the nights that are kept, in one file that needs no network.
func Nights(w io.Writer, shelf index.Shelf) error {
	return pages.Execute(w, newTrends(shelf, "Locks over the nights", "lockbench · nightly"))
}

// trends is the data of the page of locks.
type trends struct {
	page.Parts
	Own                template.CSS
	Title, Kind, Facts string
	Locks              []index.Subject
	Served             bool // with links to the other pages of the site
}

func newTrends(shelf index.Shelf, title, kind string) trends {
	v := trends{Parts: page.Shared(), Own: template.CSS(style), Title: title, Kind: kind, Locks: shelf.Locks(), Facts: "no night yet"}
	nights := map[string]bool{}
	for _, l := range v.Locks {
		for _, t := range l.Trends {
			for _, n := range t.Nights {
				nights[n.Day.Format(time.DateOnly)] = true
			}
		}
	}
	if days := slices.Sorted(maps.Keys(nights)); len(days) > 0 {
		v.Facts = fmt.Sprintf("%s, %s to %s", report.Plural(len(days), "night"), days[0], days[len(days)-1])
	}
	return v
}

// words are the text functions of the templates.
var words = template.FuncMap{
	"percent": report.Percent, "count": report.Count, "plural": report.Plural, "anchor": page.Anchor, "share": share, "draw": draw,
	"day":  func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"runs": func(lock string) string { return "/#lock=" + url.QueryEscape(lock) },
	"newest": func(nights []index.Night) []index.Night {
		nights = slices.Clone(nights)
		slices.Reverse(nights)
		return nights
	},
}

// share is a rate with its bounds.
func share(t index.Tally) string {
	r := t.Rate()
	if r == nil {
		return "no episode"
	}
	return fmt.Sprintf("%s (%s to %s)", report.Percent(r.Rate), report.Percent(r.Low), report.Percent(r.High))
}

// nightsDrawn bounds the nights of a drawing.
const nightsDrawn = 60

// drawing has the rate of each night as a dot between its bounds. Nights without a run take no room.
type drawing struct {
	Width int
	Says  string
	Dots  []dot
}

// dot is a night at its place in a drawing.
type dot struct {
	index.Night
	X            int
	Y, Low, High float64
	Counts       bool // it has an episode that counts
}

// draw makes the drawing of a trend.
func draw(t index.Trend) drawing {
	const high, step, edge = 64.0, 14, 6
	nights := t.Nights[max(0, len(t.Nights)-nightsDrawn):]
	d := drawing{Width: max(len(nights), 6)*step + edge}
	d.Says = fmt.Sprintf("Rate of %s, with its bounds each; the last is %s.", report.Plural(len(nights), "night"), share(nights[len(nights)-1].Tally))
	y := func(share float64) float64 { return edge + high*(1-share) }
	for i, n := range nights {
		at := dot{Night: n, X: edge + i*step + step/2, Y: y(0)}
		if r := n.Rate(); r != nil {
			at.Counts, at.Y, at.Low, at.High = true, y(r.Rate), y(r.Low), y(r.High)
		}
		d.Dots = append(d.Dots, at)
	}
	return d
}
