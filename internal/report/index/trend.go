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

// Seen is a violation of a run.
type Seen struct {
	At    time.Time
	Found string
	Href  string // empty: the run does not exist any more
}

// Subject is a lock in all runs.
type Subject struct {
	Name string
	Runs int
	Tally
	Broken []string // the scenarios with a violation, each once
	Last   *Seen
}

// Locks are all locks of the folder, by name.
func (s Shelf) Locks() []Subject {
	byName := map[string]*Subject{}
	s.each(func(e *entry, l *lock) {
		at := byName[l.Name]
		if at == nil {
			at = &Subject{Name: l.Name}
			byName[l.Name] = at
		}
		at.Runs++
		at.Episodes += l.Episodes
		at.Broke += l.Broke
		if l.Broke == 0 {
			return
		}
		at.Last = seen(e, l)
		if !slices.Contains(at.Broken, e.Scenario) {
			at.Broken = append(at.Broken, e.Scenario)
		}
	})
	var all []Subject
	for _, at := range byName {
		slices.Sort(at.Broken)
		all = append(all, *at)
	}
	slices.SortFunc(all, func(a, b Subject) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Trends are the trends of one lock, the highest rate first.
func (s Shelf) Trends(name string) []Trend {
	type place struct{ scenario, world string }
	found := map[place]*Trend{}
	s.each(func(e *entry, l *lock) {
		if l.Name != name {
			return
		}
		t := found[place{e.Scenario, e.World}]
		if t == nil {
			t = &Trend{Scenario: e.Scenario, World: e.World}
			found[place{e.Scenario, e.World}] = t
		}
		day := e.Started.UTC().Truncate(24 * time.Hour)
		if n := len(t.Nights); n == 0 || !t.Nights[n-1].Day.Equal(day) {
			t.Nights = append(t.Nights, Night{Day: day})
		}
		night := &t.Nights[len(t.Nights)-1]
		for _, tally := range []*Tally{&t.Tally, &night.Tally} {
			tally.Episodes += l.Episodes
			tally.Broke += l.Broke
		}
		night.Href = seen(e, l).Href
		if !slices.Contains(night.Found, l.Found) {
			night.Found = append(night.Found, l.Found)
		}
		if l.Broke > 0 {
			t.Last = seen(e, l)
			if t.First == nil {
				t.First = t.Last
			}
		}
	})
	var all []Trend
	for _, t := range found {
		all = append(all, *t)
	}
	share := func(t Trend) float64 {
		if r := t.Rate(); r != nil {
			return r.Rate
		}
		return -1
	}
	slices.SortFunc(all, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.World, b.World))
	})
	return all
}

func seen(e *entry, l *lock) *Seen {
	s := &Seen{At: e.Started, Found: l.Found}
	if e.Dir == "" {
		return s // a night without its runs
	}
	s.Href = page.Href(e.leads())
	if e.Page == page.File {
		s.Href += "#" + page.Anchor(l.Name)
	}
	return s
}

// each visits every lock that took part in a run, the oldest run first.
func (s Shelf) each(visit func(e *entry, l *lock)) {
	for i := len(s.runs) - 1; i >= 0; i-- {
		for j := range s.runs[i].Locks {
			if l := &s.runs[i].Locks[j]; l.Look != notTried {
				visit(&s.runs[i], l)
			}
		}
	}
}

// notTried is the look of a lock that took no part.
var notTried = (&report.Lock{Unsupported: "-"}).Look()
