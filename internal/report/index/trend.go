package index

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

// Subject is a lock in all runs.
type Subject struct {
	Name string
	Tally
	Broken []string // the scenarios with a violation, each once
	Last   *Seen
	Trends []Trend // the highest rate first
}

// Trend is a lock in one scenario and one world over all runs, night by night.
type Trend struct {
	Scenario, World string
	Tally
	Nights []Night // the oldest first
	// First and Last are the runs in which it broke first and last.
	First, Last *Seen
}

// Night is the result of one day, UTC.
type Night struct {
	Day time.Time
	Tally
	Found []string // verdicts, each once
	Href  string   // of its last run, if that still exists
}

// Tally counts episodes, and those with a violation.
type Tally struct{ Episodes, Broke int }

// Rate is the share of violating episodes with its bounds; nil without episodes.
func (t Tally) Rate() *stats.Rate { return stats.RateOf(t.Broke, t.Episodes) }

func (t *Tally) add(l *lock) {
	t.Episodes += l.Episodes
	t.Broke += l.Broke
}

// Seen is a violation of a run.
type Seen struct {
	At    time.Time
	Found string
	Href  string // empty: the run does not exist any more
}

// Locks are all locks that took part in a run, by name.
func (s Shelf) Locks() []Subject {
	byName := map[string]*Subject{}
	for _, e := range slices.Backward(s.runs) { // the oldest first
		for _, l := range e.Locks {
			if l.Look == notTried {
				continue
			}
			if byName[l.Name] == nil {
				byName[l.Name] = &Subject{Name: l.Name}
			}
			byName[l.Name].add(&e, &l)
		}
	}
	var all []Subject
	for _, at := range byName {
		slices.Sort(at.Broken)
		slices.SortFunc(at.Trends, func(a, b Trend) int {
			return cmp.Or(cmp.Compare(b.share(), a.share()), strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.World, b.World))
		})
		all = append(all, *at)
	}
	slices.SortFunc(all, func(a, b Subject) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// add adds a run.
func (at *Subject) add(e *entry, l *lock) {
	i := slices.IndexFunc(at.Trends, func(t Trend) bool { return t.Scenario == e.Scenario && t.World == e.World })
	if i < 0 {
		i = len(at.Trends)
		at.Trends = append(at.Trends, Trend{Scenario: e.Scenario, World: e.World})
	}
	at.Tally.add(l)
	run := at.Trends[i].add(e, l)
	if l.Broke == 0 {
		return
	}
	at.Last = run
	if !slices.Contains(at.Broken, e.Scenario) {
		at.Broken = append(at.Broken, e.Scenario)
	}
}

// add adds a run, and returns how the lock was seen in it.
func (t *Trend) add(e *entry, l *lock) *Seen {
	day := e.Started.UTC().Truncate(24 * time.Hour)
	if n := len(t.Nights); n == 0 || !t.Nights[n-1].Day.Equal(day) {
		t.Nights = append(t.Nights, Night{Day: day})
	}
	night := &t.Nights[len(t.Nights)-1]
	t.Tally.add(l)
	night.Tally.add(l)
	run := &Seen{At: e.Started, Found: l.Found}
	if e.Dir != "" { // otherwise a night without its runs
		run.Href = page.Href(e.leads())
		if e.Page == page.File {
			run.Href += "#" + page.Anchor(l.Name)
		}
	}
	night.Href = run.Href
	if !slices.Contains(night.Found, l.Found) {
		night.Found = append(night.Found, l.Found)
	}
	if l.Broke > 0 {
		t.First, t.Last = cmp.Or(t.First, run), run
	}
	return run
}

// share is the rate, and negative without episodes.
func (t Tally) share() float64 {
	if r := t.Rate(); r != nil {
		return r.Rate
	}
	return -1
}

// notTried is the look of a lock that took no part.
var notTried = (&report.Lock{Unsupported: "-"}).Look()
