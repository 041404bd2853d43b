package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// exclusion asks whether a lock ever kept two clients apart that it had to keep
// apart: it compares the works of all holds of a key, and classes what it finds by
// their beliefs (package hold draws both).
//
// One violation is counted for each session that is granted while the work of
// another goes on, so of A[0,100] B[10,20] C[30,40] there are two: a count of pairs
// of neighbours would miss C, which meets A and not B. The partner that is named is
// one with whom the class is worst, of several one whose work goes on longest.
func exclusion(l *ledger, _ Report) Result {
	r := holders(l)
	if !refusedReleases(l.h) {
		return r // both readings are the same
	}
	reading, other := "ends nothing", Options{Release: Strict}
	if l.Strict() {
		reading, other = "ends the claim", Options{Release: Ended}
	}
	if x := holders(newLedger(l.h, other)); x.Verdict != r.Verdict || x.Worst() != r.Worst() {
		said := x.Verdict.String()
		if class := x.Worst(); class != NoClass {
			said += " " + class.String()
		}
		r.Note = fmt.Sprintf("if a release that fails %s (--release %s), exclusion is %s", reading, other.Release, said)
	}
	return r
}

func holders(l *ledger) Result {
	if l.h.Header.Model.Has(history.Semaphore) {
		return l.permits()
	}
	s := overlaps{ledger: l, found: map[*hold.Hold]overlap{}}
	for _, k := range l.Keys() {
		s.key(k)
	}
	return s.result()
}

// overlaps goes over the grants of one key after another. It collects what it finds over
// all of them, for two may meet under several keys.
type overlaps struct {
	*ledger
	found map[*hold.Hold]overlap // by the later one
	open  []overlap              // nobody can know whether these are overlaps
}

func (s *overlaps) key(k *hold.Key) {
	if len(k.Granted) < 2 {
		return
	}
	var alone, shared earlier
	for _, t := range k.Granted {
		s.enter(k.Name, &alone, t)
		if t.Session.Mode == locks.Shared {
			shared.add(t) // readers do not look at each other: there may be many
		} else {
			s.enter(k.Name, &shared, t)
			alone.add(t)
		}
	}
}

// enter looks for those whose work goes on when t is granted.
func (s *overlaps) enter(key string, others *earlier, t *hold.Hold) {
	for _, a := range others.candidates(t) {
		o := overlap{key: key, earlier: a, later: t}
		switch surely, possibly := meets(a, t); {
		case surely:
			o.class = s.classify(a, t)
			if best, ok := s.found[t]; !ok || o.worse(best) {
				s.found[t] = o
			}
		case possibly:
			s.open = append(s.open, o)
		}
	}
}

// worse tells which of two overlaps of one later hold is to be told.
func (o overlap) worse(than overlap) bool {
	return cmp.Or(
		cmp.Compare(o.class, than.class),
		o.earlier.Most.Work.End().Compare(than.earlier.Most.Work.End()),
	) > 0
}

func (s *overlaps) result() Result {
	var findings []Finding
	for _, o := range s.found {
		findings = append(findings, s.finding(o))
	}
	r := violated(findings)
	open := slices.DeleteFunc(s.open, func(o overlap) bool { _, ok := s.found[o.later]; return ok })
	if len(open) > 0 && r.Verdict == Valid {
		o, grants := open[0], map[*hold.Hold]bool{}
		for _, o := range open {
			grants[o.later] = true
		}
		r.Verdict = Unknown
		r.Why = fmt.Sprintf("whether %s still held %q when %s was granted it at %s cannot be known, because %s; an \"until\" in the grants would tell (grants of this kind: %d)",
			client(o.earlier, o.later), o.key, client(o.later, o.earlier), seconds(s.h.Events[o.later.Grant].Time), s.doubt(o.earlier, o.later), len(grants))
	}
	return r
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
