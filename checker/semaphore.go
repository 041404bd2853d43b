package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/checker/sweep"
)

// semaphore is exclusion where a lock can be held several times: the permits of all
// whose work goes on are summed at each grant. They grow at grants alone, so that is
// where the sum is highest. Beliefs are summed wherever one begins: that of a lease which
// is renewed late begins again after the grant that was too much.
func (l *ledger) semaphore(name string) Result {
	permits := l.h.Header.Permits
	if permits < 1 {
		return Result{Name: name, Verdict: Unknown, Why: "the model is semaphore, but the header does not say how many permits there are"}
	}
	var findings []Finding
	open := 0
	for _, k := range l.Keys() {
		holders := newHolders(permits)
		for i, t := range k.Granted {
			holders.add(t)
			switch surely, possibly := holders.tooMany(); {
			case t.Most.Work.Empty():
			case surely && !t.Least.Work.Empty():
				findings = append(findings, l.tooMany(k.Name, t, holders, l.classOf(k.Granted[:i+1], holders)))
			case possibly:
				open++
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(name, findings)
	if r.Verdict == Valid && open > 0 {
		r.Verdict = Unknown
		r.Why = fmt.Sprintf("at %d grants it cannot be known how many permits were held: clients waited and did not say until when their leases run", open)
	}
	return r
}

// holders are those of a semaphore at the latest grant.
type holders struct {
	permits                              int
	newest                               *hold.Hold
	works, mayWork, believes, mayBelieve permitSum
	longest                              latest[hold.End]
	pieces                               int // how far the beliefs reach that are not in one piece
}

func newHolders(permits int) *holders { return &holders{permits: permits} }

func (c *holders) add(t *hold.Hold) {
	if c.newest != nil {
		c.longest.add(c.newest, c.newest.Most.Work.End())
	}
	c.newest = t
	n := t.Session.Permits
	c.works.add(t.Grant, t.Least.Work, n)
	c.mayWork.add(t.Grant, t.Most.Work, n)
	if inOnePiece(t) {
		c.believes.add(t.Grant, hold.Span{From: t.Grant, To: believedTo(t.Least.Beliefs).Pos}, n)
		c.mayBelieve.add(t.Grant, hold.Span{From: t.Grant, To: believedTo(t.Most.Beliefs).Pos}, n)
	} else {
		c.pieces = max(c.pieces, believedTo(t.Most.Beliefs).Pos)
	}
}

// tooMany tells whether more permits are held at the latest grant than there are.
func (c *holders) tooMany() (surely, possibly bool) {
	return c.works.more(c.permits), c.mayWork.more(c.permits)
}

// classOf says what the holders of too many permits could have known, of all who were
// granted up to the latest grant.
func (l *ledger) classOf(granted []*hold.Hold, c *holders) Class {
	class, at := Overstay, c.newest.Grant
	if sure := c.believed(granted, &c.believes, func(t *hold.Hold) []hold.Span { return t.Least.Beliefs }); sure >= 0 {
		class, at = DoubleGrant, sure
	} else if perhaps := c.believed(granted, &c.mayBelieve, func(t *hold.Hold) []hold.Span { return t.Most.Beliefs }); perhaps >= 0 {
		class, at = Undetermined, perhaps
	}
	if at >= l.Stepped() {
		return Undetermined
	}
	return class
}

// believed is the first position at which the newest holder believes, and those who do
// have too many permits; or -1.
func (c *holders) believed(granted []*hold.Hold, sum *permitSum, beliefs func(*hold.Hold) []hold.Span) int {
	t := c.newest
	switch mine := beliefs(t); {
	case len(mine) == 0:
		return -1
	case inOnePiece(t) && sum.at == t.Grant && sum.more(c.permits):
		return t.Grant
	case c.pieces <= t.Grant: // nobody's belief comes back, so that the sum only falls
		return -1
	}
	type change struct{ pos, by int }
	var changes []change
	for _, a := range granted {
		for _, s := range beliefs(a) {
			if s.To > t.Grant {
				changes = append(changes, change{max(s.From, t.Grant), a.Session.Permits}, change{s.To, -a.Session.Permits})
			}
		}
	}
	// Who ends where another one begins has ended before.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.pos-b.pos, cmp.Compare(a.by, b.by)) })
	var held sweep.Total
	for i, ch := range changes {
		held.Add(int64(ch.by))
		last := i+1 == len(changes) || changes[i+1].pos > ch.pos
		if last && held.More(int64(c.permits)) && hold.Within(beliefs(t), ch.pos) {
			return ch.pos
		}
	}
	return -1
}

// tooMany names, of those that held with t, one whose work went on longest.
func (l *ledger) tooMany(key string, t *hold.Hold, c *holders, class Class) Finding {
	a := c.longest[0].hold
	if a == nil {
		a = t
	}
	ended, _ := l.workEnd(a)
	return Finding{
		Rule: "too-many-permits", Class: class, Key: key, Event: l.index(t.Grant),
		Text: fmt.Sprintf("%q was granted to %s at %s, and then %s permits of %d were held (%d of them by %s until %s)",
			key, client(t, a), seconds(l.h.Events[t.Grant].Time), c.works.held, l.h.Header.Permits,
			a.Session.Permits, client(a, t), seconds(ended)),
		Events:   l.evidence(a, t),
		Sessions: []string{a.Session.Name, t.Session.Name},
	}
}
