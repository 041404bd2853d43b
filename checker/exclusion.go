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

// key compares the grants of a key. Grants after the end of all earlier work begin a new crowd, so that the crowds of a working
// lock have one hold each.
func (s *overlaps) key(k *hold.Key) {
	first, end := 0, 0
	for i, t := range k.Granted {
		if t.Grant >= end {
			s.crowd(k.Name, k.Granted[first:i])
			first = i
		}
		end = max(end, t.Most.Work.To)
	}
	s.crowd(k.Name, k.Granted[first:])
}

func (s *overlaps) crowd(key string, granted []*hold.Hold) {
	if len(granted) < 2 || !slices.ContainsFunc(granted, func(t *hold.Hold) bool { return t.Session.Mode != locks.Shared }) {
		return
	}
	r := rank(granted)
	alone, shared := newCrowd(r), newCrowd(r)
	for i, t := range granted {
		if t.Most.Work.Empty() {
			continue
		}
		s.enter(key, alone, r.at[i])
		if t.Session.Mode == locks.Shared {
			shared.add(r.at[i]) // readers are not compared with each other
			continue
		}
		s.enter(key, shared, r.at[i])
		alone.add(r.at[i])
	}
}

// enter compares the hold with a rank with the holds that may still work when it is granted.
func (s *overlaps) enter(key string, others *crowd, at int) {
	o, surely, ok := others.worst(s.ledger, at)
	if !ok {
		return
	}
	o.key = key
	of := s.open
	if surely {
		of = s.found
	}
	if other, ok := of[o.later]; !ok || o.worse(other) {
		of[o.later] = o
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
		findings = append(findings, findingOf(s.ledger, o))
	}
	r := violated(findings)
	if len(s.open) > 0 && r.Verdict == Valid {
		o := slices.MinFunc(slices.Collect(maps.Values(s.open)), func(a, b overlap) int { return a.later.Grant - b.later.Grant })
		r.Verdict = Unknown
		r.Why = fmt.Sprintf("whether %s still held %q when %s was granted it at %s cannot be known, because %s; an \"until\" in the grants would tell (grants of this kind: %d)",
			client(o.earlier, o.later), o.key, client(o.later, o.earlier), secondsAt(s.ledger, o.later.Grant), doubt(s.ledger, o.earlier, o.later), len(s.open))
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
