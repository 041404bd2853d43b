package site

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/index"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

// locks is the page of all locks.
func (s *Site) locks(w http.ResponseWriter, _ *http.Request) {
	shelf, err := s.look()
	if err != nil {
		s.fail(w, err)
		return
	}
	view := struct {
		frame
		Locks []index.Subject
	}{newFrame("Locks", "lockbench · results folder", "locks"), shelf.Locks()}
	s.show(w, "locks", view)
}

// lock is the page of one lock over time.
func (s *Site) lock(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	shelf, err := s.look()
	if err != nil {
		s.fail(w, err)
		return
	}
	trends := shelf.Trends(name)
	if len(trends) == 0 {
		http.Error(w, fmt.Sprintf("lockbench: no run has a lock with the name %q", name), http.StatusNotFound)
		return
	}
	view := struct {
		frame
		Name   string
		Trends []trend
		Runs   string
	}{frame: newFrame(report.OneLine(name), "lockbench · a lock over the nights", ""), Name: name, Runs: "/#lock=" + url.QueryEscape(name)}
	view.Trends = asDrawn(trends)
	s.show(w, "lock", view)
}

func asDrawn(trends []index.Trend) []trend {
	var all []trend
	for _, t := range trends {
		all = append(all, trend{t, len(all)})
	}
	return all
}

// Nights writes the page of all locks over the nights that are kept, in one file that needs no network.
func Nights(w io.Writer, shelf index.Shelf) error {
	type section struct {
		index.Subject
		Anchor string
		Trends []trend
		Open   bool
	}
	view := struct {
		frame
		Facts string
		Locks []section
	}{frame: newFrame("Locks over the nights", "lockbench · nightly", "")}
	nights := map[string]bool{}
	for _, l := range shelf.Locks() {
		at := section{Subject: l, Anchor: page.Anchor(l.Name), Trends: asDrawn(shelf.Trends(l.Name))}
		for _, t := range at.Trends {
			for _, n := range t.Nights {
				nights[n.Day.Format(time.DateOnly)] = true
			}
		}
		view.Locks = append(view.Locks, at)
	}
	for i := range view.Locks {
		view.Locks[i].Open = len(view.Locks) == 1
	}
	days := slices.Sorted(maps.Keys(nights))
	view.Facts = "no night yet"
	if len(days) > 0 {
		view.Facts = fmt.Sprintf("%s, %s to %s", report.Plural(len(days), "night"), days[0], days[len(days)-1])
	}
	return pages.ExecuteTemplate(w, "nights", view)
}

// trend is the data of a lock in one scenario and world.
type trend struct {
	index.Trend
	N int
}

// Share is a rate with its bounds.
func Share(t index.Tally) string {
	r := t.Rate()
	if r == nil {
		return "no episode"
	}
	return fmt.Sprintf("%s (%s to %s)", report.Percent(r.Rate), report.Percent(r.Low), report.Percent(r.High))
}

func (trend) Share(t index.Tally) string { return Share(t) }

// Newest are the nights, the newest first.
func (t trend) Newest() []index.Night {
	all := make([]index.Night, 0, len(t.Nights))
	for i := len(t.Nights) - 1; i >= 0; i-- {
		all = append(all, t.Nights[i])
	}
	return all
}

// nightsDrawn bounds the nights of a drawing.
const nightsDrawn = 60

// Drawing has the rate of each night as a dot between its bounds. Nights without a run take no room.
func (t trend) Drawing() template.HTML {
	nights := t.Nights[max(0, len(t.Nights)-nightsDrawn):]
	var b strings.Builder
	const high, step, edge = 64.0, 14, 6
	width := max(len(nights), 6)*step + edge
	says := fmt.Sprintf("Rate of %s, with its bounds each; the last is %s.", report.Plural(len(nights), "night"), Share(nights[len(nights)-1].Tally))
	fmt.Fprintf(&b, `<svg class="trend" width="%d" height="%.0f" viewBox="0 0 %d %.0f" role="img" aria-label="%s">`, width, high+2*edge, width, high+2*edge, template.HTMLEscapeString(says))
	y := func(share float64) float64 { return edge + high*(1-share) }
	for _, share := range []float64{0, 0.5, 1} {
		fmt.Fprintf(&b, `<line class="grid" x1="0" x2="%d" y1="%.1f" y2="%.1f"/>`, width, y(share), y(share))
	}
	for i, n := range nights {
		x := edge + i*step + step/2
		r := n.Rate()
		if r == nil {
			r = &stats.Rate{}
			fmt.Fprintf(&b, `<g class="night"><title>%s: no episode that counts</title><circle class="none" cx="%d" cy="%.1f" r="2"/></g>`, n.Day.Format("2006-01-02"), x, y(0))
			continue
		}
		look := "held"
		if n.Broke > 0 {
			look = "broke"
		}
		fmt.Fprintf(&b, `<g class="night"><title>%s: broke in %d of %d, %s</title><line class="range" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><circle class="%s" cx="%d" cy="%.1f" r="4"/></g>`,
			n.Day.Format("2006-01-02"), n.Broke, n.Episodes, template.HTMLEscapeString(Share(n.Tally)), x, x, y(r.High), y(r.Low), look, x, y(r.Rate))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
