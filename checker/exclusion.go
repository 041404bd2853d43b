package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// exclusion asks whether a lock ever kept two clients apart that it had to keep
// apart: it compares the works of all holds of a key, and classes overlaps by
// their beliefs (package hold computes both).
//
// One violation is counted for each session that is granted while the work of
// another goes on, so of A[0,100] B[10,20] C[30,40] there are two: a count of pairs
// of neighbours would miss C, which meets A and not B. The partner that is named is
// one with which the class is worst, of several one whose work goes on longest.
func exclusion(l *ledger, _ Report) Result {
	r := holders(l)
	if !refusedReleases(l.h) {
		return r // both readings are the same
	}
	reading, other := "ends nothing", Options{Release: Strict}
	if l.Strict {
		reading, other = "ends the claim", Options{Release: Ended}
	}
	if x := holders(newLedger(l.h, other)); x.Verdict != r.Verdict || x.Worst() != r.Worst() {
		verdict := strings.TrimSpace(x.Verdict.String() + " " + x.Worst().String())
		r.Note = fmt.Sprintf("if a release that fails %s (--release %s), exclusion is %s", reading, other.Release, verdict)
	}
	return r
}

func holders(l *ledger) Result {
	if l.h.Header.Model.Has(history.Semaphore) {
		return l.permits()
	}
	s := overlaps{ledger: l, found: map[*hold.Hold]overlap{}, open: map[*hold.Hold]overlap{}}
	for _, k := range l.Keys {
		s.key(k)
	}
	return s.result()
}

// overlaps goes over the grants of one key after another. It collects overlaps over
// all of them, because two holds may meet under several keys.
type overlaps struct {
	*ledger
	found map[*hold.Hold]overlap // by the later one
	open  map[*hold.Hold]overlap // the same, of those that may be overlaps
}

func (s *overlaps) key(k *hold.Key) {
	if len(k.Granted) < 2 {
		return
	}
	var alone, shared []*hold.Hold // whose work may go on: mostly no more than one for each client
	for _, t := range k.Granted {
		alone = working(alone, t.Grant)
		s.enter(k.Name, alone, t)
		if t.Session.Mode == locks.Shared {
			shared = append(shared, t) // readers are not compared with each other: there may be many
			continue
		}
		shared = working(shared, t.Grant)
		s.enter(k.Name, shared, t)
		alone = append(alone, t)
	}
}

// working keeps the holds whose work may go on at a position.
func working(holds []*hold.Hold, pos int) []*hold.Hold {
	return slices.DeleteFunc(holds, func(a *hold.Hold) bool { return a.Most.Work.To <= pos })
}

// enter compares t with the holds whose work may go on when t is granted.
func (s *overlaps) enter(key string, others []*hold.Hold, t *hold.Hold) {
	for _, a := range others {
		if a.Session.Owner == t.Session.Owner {
			continue
		}
		o := overlap{key: key, earlier: a, later: t}
		switch surely, possibly := meets(a, t); {
		case surely:
			o.class = s.classify(a, t)
			if best, ok := s.found[t]; !ok || o.worse(best) {
				s.found[t] = o
			}
		case possibly:
			if doubt, ok := s.open[t]; !ok || o.worse(doubt) {
				s.open[t] = o
			}
		}
	}
}

// worse tells which of two overlaps of one later hold is reported.
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
	if len(s.open) > 0 && r.Verdict == Valid {
		o := slices.MinFunc(slices.Collect(maps.Values(s.open)), func(a, b overlap) int { return a.later.Grant - b.later.Grant })
		r.Verdict = Unknown
		r.Why = fmt.Sprintf("whether %s still held %q when %s was granted it at %s cannot be known, because %s; an \"until\" in the grants would tell (grants of this kind: %d)",
			client(o.earlier, o.later), o.key, client(o.later, o.earlier), s.at(o.later.Grant), s.doubt(o.earlier, o.later), len(s.open))
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
