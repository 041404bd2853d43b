package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// provenPermits is [answers.proven] for a semaphore, whose permits are summed at each
// grant. A session whose release or renewal worked has had its own up to that call. Of
// three permits,
//
//	client 1  acquire 2 ok   release ...no answer          release ok
//	client 2                               acquire 2 ok
//
// If the second release worked, four were held. It is told of those who count by their
// proof alone; whoever could still believe is for exclusion to tell.
func (a *answers) provenPermits(k *hold.Key) {
	if a.h.Header.Permits < 1 {
		return // nobody says how many there are
	}
	type proof struct{ from, to int } // where its client first lost reason to believe, and the call that worked
	proofs := map[*hold.Hold]proof{}
	var byFrom []*hold.Hold
	alone := aloneTo(k)
	for _, d := range k.Granted {
		if to := provenBefore(d, alone(d)); to > d.Grant {
			proofs[d] = proof{lostBelief(d), to}
			byFrom = append(byFrom, d)
		}
	}
	if len(byFrom) == 0 {
		return
	}
	slices.SortStableFunc(byFrom, func(x, y *hold.Hold) int { return cmp.Compare(proofs[x].from, proofs[y].from) })
	var held permitSum
	var granted []*hold.Hold // of the proven, since the last grant that ran out unused
	for _, t := range k.Granted {
		held.add(t.Grant, hold.Span{From: t.Grant, To: max(a.surelyTo(t), proofs[t].to)}, t.Session.Permits)
		if held.more(a.h.Header.Permits) {
			for len(byFrom) > 0 && proofs[byFrom[0]].from <= t.Grant {
				a.tooManyProven(k, byFrom[0], t, held, proofs[byFrom[0]].to)
				byFrom = byFrom[1:]
			}
			if unused(t) { // then exclusion says nothing, whatever the others believe
				for _, d := range granted {
					a.tooManyProven(k, d, t, held, proofs[d].to)
				}
				granted = granted[:0]
			}
		}
		if proofs[t].to > 0 {
			granted = append(granted, t)
		}
	}
}

// aloneTo tells up to which position a session is the only one of its owner that may hold.
// What an owner of several is told may be meant for another one:
//
//	client 1  acquire 2 ok   release ok   acquire 1 ...
//
// proves that the first session held until its release was called; and had the second
// acquire been called before the release was answered, nothing.
func aloneTo(k *hold.Key) func(*hold.Hold) int {
	type early struct {
		first        *hold.Hold
		asked, other int // when it asked, and when the next one did
	}
	owners := map[string]early{}
	for _, d := range k.All {
		if d.Session.Acquire.Outcome == history.Failed {
			continue
		}
		e, ok := owners[d.Session.Owner]
		asked := d.Session.Acquire.Invoke
		switch {
		case !ok:
			e = early{d, asked, hold.Beyond}
		case asked < e.asked:
			e = early{d, asked, e.asked}
		default:
			e.other = min(e.other, asked)
		}
		owners[d.Session.Owner] = e
	}
	return func(d *hold.Hold) int {
		e, ok := owners[d.Session.Owner]
		switch {
		case !ok:
			return hold.Beyond
		case e.first == d:
			return e.other
		}
		return e.asked
	}
}

// provenBefore is the last call of a session that worked and was answered before a
// position, or -1.
func provenBefore(d *hold.Hold, pos int) int {
	to := -1
	for _, op := range d.Session.Ops {
		if op.Outcome == history.Done && (op.F == history.Release || op.F == history.Renew) && op.Return < pos {
			to = op.Invoke
		}
	}
	return to
}

// surelyTo is the position up to which a session that was granted held for certain, as far
// as nothing proves that it held for longer. It lies before its grant if the answer may have
// come too late.
func (a *answers) surelyTo(d *hold.Hold) int {
	if a.MayBeLate(d) {
		return 0
	}
	to := d.Ends.Lapse
	for _, op := range d.Session.Ops {
		if op.F == history.Release || op.F == history.Renew && op.Outcome != history.Done {
			to = min(to, op.Invoke)
		}
	}
	return to
}

// tooManyProven tells of a release or a renewal that worked, if it was called after a grant
// with which there were too many permits, and up to the last call that proves something.
func (a *answers) tooManyProven(k *hold.Key, d, t *hold.Hold, held permitSum, to int) {
	for _, op := range d.Session.Ops {
		if op.Outcome == history.Done && (op.F == history.Release || op.F == history.Renew) && op.Invoke > t.Grant && op.Invoke <= to {
			a.found("released-without-holding", d, k.Name, op.Return,
				fmt.Sprintf("%s was told at %s that it has %s %q, %s%s permits of %d were held when client %d was granted it at %s", who(d.Session), a.at(op.Return), done(op), k.Name,
					a.whyOver(d, moment{from: t.Grant}), held.held, a.h.Header.Permits, t.Session.Client, a.at(t.Grant)), t, op.Invoke, op.Return)
			return
		}
	}
}
