package search

import (
	"iter"
	"slices"

	"lockbench/scenarios"
)

// setsHeader describes a search through sets. It decides which sets there are, together with what the smaller sets show.
type setsHeader struct {
	Sets     int      `json:"sets"` // the schema, 1
	Lock     string   `json:"lock"`
	Workload string   `json:"workload"`
	Size     int      `json:"size"`
	Rounds   int      `json:"rounds"`
	Shard    int      `json:"shard,omitempty"`
	Shards   int      `json:"shards,omitempty"`
	Scenario string   `json:"scenario"` // the text of the small run
	Program  string   `json:"program"`
	Faults   []fault  `json:"faults"` // the catalog for the lock's servers
	Not      []string `json:"not_applied,omitempty"`
	Accept   []string `json:"accept,omitempty"`
	Full     bool     `json:"full,omitempty"`
	Again    string   `json:"again,omitempty"`
}

// header returns the description of the search.
func (x Sets) header(all []fault, not []string) setsHeader {
	return setsHeader{
		Sets: 1, Lock: x.Job.Scenario.Locks[0].Name, Workload: x.Job.Scenario.Workload.Name, Size: x.Size, Rounds: x.Rounds, Shard: x.Shard.I, Shards: x.Shard.N,
		Scenario: string(x.Job.Scenario.Source), Program: x.Job.Options.Program, Faults: all, Not: not, Accept: x.Accept, Full: x.full, Again: x.Again,
	}
}

// tried is a set that has run, and the points at which a further fault can start.
type tried struct {
	faults []string
	points []point
	// violated reports that the set is violated, and has further faults in a full search only.
	violated bool
}

// branch are the sets that add one fault to a set at one point. A fault in the middle of an operation is tried at each
// request of it, as many as there are.
type branch struct {
	n      int // in its size, from 0
	before *tried
	at     point
	fault  fault
}

// faults returns the set with the fault of the branch.
func (b branch) faults(request int) []string {
	if b.before == nil {
		return nil
	}
	return append(slices.Clone(b.before.faults), b.fault.at(b.at, request))
}

// branches yields the branches of a size, whose smaller sets are the level.
func (h setsHeader) branches(level []tried, size int) iter.Seq[branch] {
	return func(yield func(branch) bool) {
		if size == 0 {
			yield(branch{})
			return
		}
		n := 0
		for i := range level {
			for _, p := range level[i].points {
				for _, f := range h.Faults {
					if f.on(p.Event) {
						if !yield(branch{n, &level[i], p, f}) {
							return
						}
						n++
					}
				}
			}
		}
	}
}

// count returns the number of branches of a level.
func (h setsHeader) count(level []tried) (n int) {
	for _, t := range level {
		for _, p := range t.points {
			for _, f := range h.Faults {
				if f.on(p.Event) {
					n++
				}
			}
		}
	}
	return n
}

// has reports whether the search tries a branch.
func (h setsHeader) has(size, n int) bool {
	return size < h.Size || h.Shards == 0 || n%h.Shards == h.Shard-1
}

// setRan is a set that was tried, and what it shows.
type setRan struct {
	Request int     `json:"r,omitempty"`
	Sum     string  `json:"h,omitempty"` // the beginning of the checksum of the history
	Verdict string  `json:"v,omitempty"` // empty: valid
	Class   string  `json:"c,omitempty"`
	Rule    string  `json:"rule,omitempty"`
	Text    string  `json:"text,omitempty"` // of the finding, or why the verdict is unknown
	Error   string  `json:"error,omitempty"`
	Points  []point `json:"p,omitempty"`

	unsupported error
}

// shown sets what a set shows.
func (r *setRan) shown(o *outcome) {
	const sumLength = 20
	r.Sum = o.Sum[:sumLength]
	switch o.Verdict {
	case scenarios.Violated:
		r.Verdict, r.Class, r.Rule, r.Text = o.Verdict, o.Class, o.Finding.Rule, o.Finding.Text
	case scenarios.Unknown:
		r.Verdict, r.Text = o.Verdict, o.Why
	}
}

// tally counts the sets of one size in their order.
type tally struct {
	header setsHeader
	out    *SetsFound
	level  *Level
	sums   map[string]bool
	next   []tried
}

// tally begins the count of a size.
func (h setsHeader) tally(out *SetsFound, size int, level []tried) *tally {
	l := Level{Faults: size, Shown: map[string]int{}, Kinds: map[string]map[string]int{}}
	for _, t := range level {
		l.Points += len(t.points)
	}
	if l.Starts = h.count(level); size == 0 {
		l.Starts = 1
	}
	if size == h.Size && h.Shards > 0 {
		l.Starts = (l.Starts - h.Shard + h.Shards) / h.Shards
	}
	l.Sets = l.Starts
	out.Levels = append(out.Levels, l)
	return &tally{header: h, out: out, level: &out.Levels[size], sums: map[string]bool{}}
}

// add counts the sets of a branch.
func (t *tally) add(b branch, sets []setRan) {
	l := t.level
	l.Tried++
	l.Sets += len(sets) - 1
	for _, r := range sets {
		if r.Error != "" {
			l.NotRun++
			addReason(&l.Reasons, Reason{Why: r.Error, Seeds: 1})
			if len(l.Not) < notMax {
				l.Not = append(l.Not, NotRun{b.faults(r.Request), r.Error})
			}
			continue
		}
		l.Ran++
		t.sums[r.Sum] = true
		switch r.Verdict {
		case scenarios.Violated:
			t.violated(b, r)
		case scenarios.Unknown:
			l.Unknown++
			addReason(&l.Reasons, Reason{Why: r.Text, Seeds: 1})
		}
		if l.Faults < t.header.Size && (r.Verdict == "" || t.header.Full && r.Verdict == scenarios.Violated) {
			t.next = append(t.next, tried{b.faults(r.Request), r.Points, r.Verdict != "" || b.before != nil && b.before.violated})
		}
	}
	l.Distinct = len(t.sums)
}

// violated counts a violated set, and keeps the first of its kind.
func (t *tally) violated(b branch, r setRan) {
	l := t.level
	l.Violated++
	s := Set{Faults: b.faults(r.Request), Rule: r.Rule, Class: r.Class, Text: r.Text}
	shows, kind := s.Shows(), s.Kind()
	l.Shown[shows]++
	if s.Accepted = slices.Contains(t.header.Accept, shows) || slices.ContainsFunc(s.Faults, func(f string) bool { return begins(f, t.header.Accept) }); s.Accepted {
		l.Accepted++
	}
	if l.Kinds[kind] == nil {
		l.Kinds[kind] = map[string]int{}
	}
	if l.Kinds[kind][shows]++; l.Kinds[kind][shows] > 1 || b.before != nil && b.before.violated {
		return
	}
	for _, l := range t.out.Levels {
		s.After += l.Ran + l.NotRun
	}
	t.out.Smallest = append(t.out.Smallest, s)
}

// end completes the count.
func (t *tally) end() {
	t.level.Complete = t.level.Tried == t.level.Starts
}
