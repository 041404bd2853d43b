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

// exclusion finds clients that worked under one key at the same time although the lock had to
// exclude one of them. Package hold computes the work and the belief of each hold. exclusion
// compares the works and derives the class of each overlap from the beliefs.
//
// Each session that is granted while another session works counts as one violation. For
// A[0,100] B[10,20] C[30,40] that gives two violations; a count of adjacent pairs would miss C,
// which overlaps with A but not with B. The finding names the partner with the worst class, and
// among equals the one that works longest.
func exclusion(l *ledger, _ Report) Result {
	r := holders(l)
	if !refusedReleases(l.h) {
		return r // both values of --release give the same result
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

// overlaps scans the grants of one key after another. It collects overlaps across keys, because two
// holds may overlap under several keys.
type overlaps struct {
	*ledger
	found map[*hold.Hold]overlap // by the later hold
	open  map[*hold.Hold]overlap // the same for possible overlaps
}

func (s *overlaps) key(k *hold.Key) {
	if len(k.Granted) < 2 {
		return
	}
	var alone, shared []*hold.Hold // holds that may still work, usually at most one for each client
	for _, t := range k.Granted {
		alone = working(alone, t.Grant)
		s.enter(k.Name, alone, t)
		if t.Session.Mode == locks.Shared {
			shared = append(shared, t) // readers are not compared with each other, because there may be many
			continue
		}
		shared = working(shared, t.Grant)
		s.enter(k.Name, shared, t)
		alone = append(alone, t)
	}
}

// working returns the holds that may still work at a position.
func working(holds []*hold.Hold, pos int) []*hold.Hold {
	return slices.DeleteFunc(holds, func(a *hold.Hold) bool { return a.Most.Work.To <= pos })
}

// enter compares t with the holds that may still work when t is granted.
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

// worse reports whether the first of two overlaps of a hold is the one to report.
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

// refusedReleases reports whether the history has a failed release, so that --release matters.
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
