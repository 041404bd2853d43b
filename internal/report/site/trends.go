package site

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

var (
	//go:embed trends.tmpl.html
	trendsMarkup string
	//go:embed trends.css
	trendsStyle string
)

var trendsPage = template.Must(template.New("locks").Funcs(words).Parse(trendsMarkup))

// locks is the page of all locks over time.
func (s *Site) locks(w http.ResponseWriter, _ *http.Request) {
	now, err := s.scan()
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v := newTrends(now.runs)
	v.Served = true
	_ = trendsPage.Execute(w, v) // the client may be gone
}

// trends is the data of the page of locks.
type trends struct {
	page.Parts
	Own    template.CSS
	Facts  string
	Locks  []subject
	Served bool // with links to the other pages of the site
}

// subject is a lock in all runs.
type subject struct {
	Name string
	Tally
	Trends []trend // the highest rate first
}

// trend is a lock in one scenario and one world over all runs, night by night.
type trend struct {
	Scenario, World string
	Tally
	Nights []night // the oldest first
}

// night is the result of one day, UTC.
type night struct {
	Day string
	Tally
	Found []string // verdicts, each once
	Href  string   // of its last run, if that still exists
}

func (t *Tally) add(n Tally) {
	t.Episodes += n.Episodes
	t.Broke += n.Broke
}

// Rate is the share of violating episodes with its bounds; nil without episodes.
func (t Tally) Rate() *stats.Rate { return stats.RateOf(t.Broke, t.Episodes) }

// Words is the rate in words.
func (t Tally) Words() string {
	r := t.Rate()
	if r == nil {
		return "no episode"
	}
	return fmt.Sprintf("%s (%s to %s)", report.Percent(r.Rate), report.Percent(r.Low), report.Percent(r.High))
}

// newTrends makes the page of runs, of which the newest is the first.
func newTrends(runs []entry) trends {
	byName, days := map[string]*subject{}, map[string]bool{}
	for _, e := range slices.Backward(runs) {
		for _, l := range e.Locks {
			if l.Look == notTried {
				continue
			}
			if byName[l.Name] == nil {
				byName[l.Name] = &subject{Name: l.Name}
			}
			byName[l.Name].add(e, l)
			days[day(e.Started)] = true
		}
	}
	v := trends{Parts: page.Shared(), Own: template.CSS(trendsStyle), Facts: "no night yet"}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		at := byName[name]
		slices.SortFunc(at.Trends, func(a, b trend) int {
			return cmp.Or(cmp.Compare(b.share(), a.share()), strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.World, b.World))
		})
		v.Locks = append(v.Locks, *at)
	}
	if days := slices.Sorted(maps.Keys(days)); len(days) > 0 {
		v.Facts = fmt.Sprintf("%s, %s to %s", report.Plural(len(days), "night"), days[0], days[len(days)-1])
	}
	return v
}

// notTried is the look of a lock that took no part.
var notTried = report.Untested.Look().Color

// add adds a run.
func (at *subject) add(e entry, l lock) {
	i := slices.IndexFunc(at.Trends, func(t trend) bool { return t.Scenario == e.Scenario && t.World == e.World })
	if i < 0 {
		i = len(at.Trends)
		at.Trends = append(at.Trends, trend{Scenario: e.Scenario, World: e.World})
	}
	t := &at.Trends[i]
	if n := len(t.Nights); n == 0 || t.Nights[n-1].Day != day(e.Started) {
		t.Nights = append(t.Nights, night{Day: day(e.Started)})
	}
	n := &t.Nights[len(t.Nights)-1]
	for _, tally := range []*Tally{&at.Tally, &t.Tally, &n.Tally} {
		tally.add(l.Tally)
	}
	if e.Dir != "" { // otherwise the runs of the night are gone
		n.Href = e.LockHref(l)
	}
	if !slices.Contains(n.Found, l.Found) {
		n.Found = append(n.Found, l.Found)
	}
}

// share is the rate, and negative without episodes.
func (t Tally) share() float64 {
	if r := t.Rate(); r != nil {
		return r.Rate
	}
	return -1
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// words are the text functions of the templates.
var words = template.FuncMap{
	"count": report.Count, "plural": report.Plural, "anchor": page.Anchor, "href": page.Href, "draw": draw,
	"runs": func(lock string) string { return "/#text=" + url.QueryEscape(lock) },
	"newest": func(nights []night) []night {
		nights = slices.Clone(nights)
		slices.Reverse(nights)
		return nights
	},
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
	night
	X            int
	Y, Low, High float64
	Counts       bool // it has an episode that counts
}

// draw makes the drawing of a trend.
func draw(t trend) drawing {
	const high, step, edge = 64.0, 14, 6
	nights := t.Nights[max(0, len(t.Nights)-nightsDrawn):]
	d := drawing{Width: max(len(nights), 6)*step + edge}
	d.Says = fmt.Sprintf("Rate of %s, with its bounds each; the last is %s.", report.Plural(len(nights), "night"), nights[len(nights)-1].Words())
	y := func(share float64) float64 { return edge + high*(1-share) }
	for i, n := range nights {
		at := dot{night: n, X: edge + i*step + step/2, Y: y(0)}
		if r := n.Rate(); r != nil {
			at.Counts, at.Y, at.Low, at.High = true, y(r.Rate), y(r.Low), y(r.High)
		}
		d.Dots = append(d.Dots, at)
	}
	return d
}
