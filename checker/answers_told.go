package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/sweep"
	"lockbench/internal/history"
)

// This file tells what the sweep has found of a key in the words of its sessions. Of a
// reentrant lock the sweep names an owner; which of its sessions it was is looked for here.

// nowhere: a release worked, but there is no moment at which its session can have held.
// Of all sessions of an owner it is one that nobody has granted, if there is such a one;
// else the last, for the ones before it have used up what was granted.
func (a *answers) nowhere(k *asked, all []*history.Session) {
	var at *history.Session
	var release history.Op
	for _, s := range all {
		granted := s.Acquire.Outcome == history.Done
		for _, op := range s.Ops {
			if op.F != history.Release || op.Outcome != history.Done {
				continue
			}
			if at == nil || granted == (at.Acquire.Outcome == history.Done) && op.Return > release.Return || !granted && at.Acquire.Outcome == history.Done {
				at, release = s, op
			}
		}
	}
	if at == nil {
		return
	}
	why := "others did all the time"
	if a.several(at) {
		why = "others did, or it had given back all that it held"
	}
	a.found("released-without-holding", at, k.key, release.Return,
		fmt.Sprintf("%s was told at %s that it has released %q, but from %s on, when it asked, it cannot have held it: %s",
			who(at), a.at(release.Return), k.key, a.at(release.Invoke), why), nil, release.Invoke, release.Return)
}

// refused: a try was refused for being taken, and nobody can have held.
func (a *answers) refused(k *asked, all []*history.Session) {
	i := slices.IndexFunc(all, func(s *history.Session) bool {
		return s.Acquire.Outcome == history.Failed && a.h.At(s.Acquire.Return).Strict
	})
	if i < 0 {
		return
	}
	s := all[i]
	claim := "because somebody held it, but nobody can have"
	if a.h.Header.Model.Has(history.Semaphore) {
		claim = "for want of permits, but there must have been enough"
	}
	a.found("refused-though-free", s, k.key, s.Acquire.Return,
		fmt.Sprintf("%s was refused %q between %s and %s %s", who(s), k.key,
			a.at(s.Acquire.Invoke), a.at(s.Acquire.Return), claim), nil)
}

// both: two held at once. That is for exclusion to tell, unless the first had asked to
// be released by then, and only a later answer shows that it still held.
func (a *answers) both(k *asked, first, second []*history.Session) {
	if len(first) == 0 || len(second) == 0 || first[0].Owner == second[0].Owner {
		return
	}
	for _, s := range first {
		asked, again := -1, -1 // calls: of the first release, of the last that was ok after it
		for _, op := range s.Ops {
			switch {
			case op.F != history.Release:
			case asked < 0:
				asked = op.Invoke
			case op.Outcome == history.Done:
				again = op.Invoke
			}
		}
		if again < 0 {
			continue
		}
		from, _ := slices.BinarySearchFunc(k.granted, asked, func(t *history.Session, pos int) int { return cmp.Compare(t.Acquire.Return, pos) })
		for _, t := range k.granted[from:] {
			if t.Acquire.Return >= again {
				break
			}
			if t.Owner == second[0].Owner {
				a.stillHeld(k, s, t)
			}
		}
	}
}

func (a *answers) stillHeld(k *asked, first, second *history.Session) {
	asked := false
	for _, op := range first.Ops {
		if op.F != history.Release {
			continue
		}
		if op.Outcome == history.Done && asked && op.Invoke > second.Acquire.Return {
			a.found("released-without-holding", first, k.key, op.Return,
				fmt.Sprintf("%s was told at %s that it has released %q, so an earlier release had not worked; but client %d was granted it at %s",
					who(first), a.at(op.Return), k.key, second.Client, a.at(second.Acquire.Return)), second, op.Invoke, op.Return)
			return
		}
		asked = asked || op.Invoke < second.Acquire.Return
	}
}

// deep: the releases of an owner do not fit its acquires.
func (a *answers) deep(k *asked, all []*history.Session, rule sweep.Rule) {
	if len(all) == 0 {
		return
	}
	s := all[0]
	last := s.Acquire.Invoke
	if a.several(s) {
		all = k.byOwner[s.Owner]
	}
	for _, t := range all {
		for _, op := range t.Ops {
			if op.F == history.Release && op.Return > last {
				last = op.Return
			}
		}
	}
	a.found(rule.String(), s, k.key, last,
		fmt.Sprintf("the releases of owner %q of %q do not fit what it had acquired", s.Owner, k.key), nil, last)
}
