package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Exclusion asks whether a lock ever kept two clients apart that it had to keep
// apart: it compares the works of all sessions of a key, and classes what it finds by
// their beliefs (claims.go draws both).
//
// One violation is counted for each session that is granted while the work of
// another goes on, so of A[0,100] B[10,20] C[30,40] there are two: a count of pairs
// of neighbours would miss C, which meets A and not B. The partner that is named is
// the one with whom the class is worst, of several the one whose work goes on longest.
//
// The cost is that of sorting, and of the sessions that are open at once.
type Exclusion struct{}

var _ Checker = Exclusion{}

// Name returns "exclusion".
func (Exclusion) Name() string { return "exclusion" }

// About says what is judged, in one line.
func (Exclusion) About() string {
	return "nobody is granted a lock while somebody else works under it"
}

// Check is a pure function of the history.
func (c Exclusion) Check(h *history.History, o Options) Result {
	r := c.check(h, o)
	if !refusedReleases(h) {
		return r // both readings are the same
	}
	reading, other := "ends nothing", Options{Release: Strict}
	if o.Release == Strict {
		reading, other = "ends the claim", Options{Release: Ended}
	}
	if x := c.check(h, other); x.Verdict != r.Verdict || x.Worst() != r.Worst() {
		said := x.Verdict.String()
		if class := x.Worst(); class != NoClass {
			said += " " + class.String()
		}
		r.Note = fmt.Sprintf("if a release that fails %s (--release %s), exclusion is %s", reading, other.Release, said)
	}
	return r
}

func (c Exclusion) check(h *history.History, o Options) Result {
	l := newLedger(h, o)
	keys := byKey(l.tenures())
	if h.Header.Model.Has(history.Semaphore) {
		return l.semaphore(c.Name(), keys)
	}
	var s walk
	for _, k := range keys {
		s.run(l, k)
	}
	return s.result(c.Name(), l)
}

// keyed are the tenures of one key, in the order of grants.
type keyed struct {
	key     string
	tenures []*tenure
}

// byKey sorts tenures by key. One that holds several keys stands under each.
func byKey(all []*tenure) []keyed {
	var keys []keyed
	place := map[string]int{}
	for _, t := range all {
		for _, key := range t.session.Keys {
			i, ok := place[key]
			if !ok {
				i = len(keys)
				place[key] = i
				keys = append(keys, keyed{key: key})
			}
			keys[i].tenures = append(keys[i].tenures, t)
		}
	}
	return keys
}

// walk goes over the grants of a key and knows whose work goes on. It collects what
// it finds over all keys.
type walk struct {
	found map[*tenure]overlap // by the later one, which may meet others under several keys
	open  []overlap           // nobody can know whether these are overlaps
}

func (s *walk) run(l *ledger, k keyed) {
	var alone, shared active
	for _, t := range k.tenures {
		alone.drop(t.grant)
		shared.drop(t.grant)
		s.enter(l, k.key, &alone, t)
		if t.session.Mode == locks.Shared {
			shared.add(t) // readers do not look at each other: there may be many
		} else {
			s.enter(l, k.key, &shared, t)
			alone.add(t)
		}
	}
}

// enter looks for those whose work goes on when t is granted.
func (s *walk) enter(l *ledger, key string, others *active, t *tenure) {
	for _, a := range others.tenures {
		if !conflict(a, t) {
			continue
		}
		surely, possibly := meets(a, t)
		if !surely {
			if possibly {
				s.open = append(s.open, overlap{key: key, earlier: a, later: t})
			}
			continue
		}
		o := overlap{key, a, t, l.classify(a, t)}
		if best, ok := s.found[t]; !ok || o.worse(best) {
			if s.found == nil {
				s.found = map[*tenure]overlap{}
			}
			s.found[t] = o
		}
		// Those that follow end sooner and cannot be worse. So a lock that is never
		// given back costs no more than a look at each later grant.
		if o.class == DoubleGrant || o.class == Undetermined && t.grant >= l.stepped {
			return
		}
	}
}

// worse tells which of two overlaps of one later tenure is to be told.
func (o overlap) worse(than overlap) bool {
	return cmp.Or(
		cmp.Compare(o.class, than.class),
		cmp.Compare(o.earlier.most.work.to, than.earlier.most.work.to),
	) > 0
}

func (s *walk) result(name string, l *ledger) Result {
	var findings []Finding
	for _, o := range s.found {
		findings = append(findings, l.finding(o))
	}
	slices.SortFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(name, findings)
	open := slices.DeleteFunc(s.open, func(o overlap) bool { _, ok := s.found[o.later]; return ok })
	if len(open) > 0 && r.Verdict == Valid {
		o := open[0]
		r.Verdict = Unknown
		r.Why = fmt.Sprintf("whether %s still held %q when %s was granted it at %s cannot be known, because %s; an \"until\" in the grants would tell (grants of this kind: %d)",
			client(o.earlier, o.later), o.key, client(o.later, o.earlier), seconds(l.h.Events[o.later.grant].Time), l.doubt(o.earlier, o.later), len(open))
	}
	return r
}

// active are tenures whose work may go on, the one that ends last first.
type active struct{ tenures []*tenure }

// drop forgets those whose work has ended before a position.
func (a *active) drop(pos int) {
	n := len(a.tenures)
	for n > 0 && a.tenures[n-1].most.work.to <= pos {
		n--
	}
	a.tenures = a.tenures[:n]
}

func (a *active) add(t *tenure) {
	i, _ := slices.BinarySearchFunc(a.tenures, t, func(x, t *tenure) int { return t.most.work.to - x.most.work.to })
	a.tenures = slices.Insert(a.tenures, i, t)
}

// refusedReleases tells whether it matters how a failed release is read.
func refusedReleases(h *history.History) bool {
	for _, s := range h.Sessions {
		for _, op := range s.Ops {
			if op.F == history.Release && op.Outcome == history.Failed {
				return true
			}
		}
	}
	return false
}
