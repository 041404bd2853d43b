package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// Resource asks what reached the thing that the lock guards: a counter for each key
// and form, to which everybody writes what it has read plus one. It needs to know
// nothing of locks, and so it is the witness against a verdict of the others.
//
// A write is lost if it is not in the chain of writes that leads to the counter's last
// value. Take two clients that both read 5:
//
//	write 6, write 7, write 8 by one      write 6 by the other, late      write 7 by whoever is next
//	   lost     lost     lost                     in the chain                     in the chain
//
// There the finding is the one late write, which undid three; the write of 7 after it
// is an honest one, although 7 is less than the 8 that was there before. So a write is
// compared with what the counter stands at, not with the highest it ever stood at.
//
// Writes count in the order of their returns: the host applies a write between the
// client's answer and the ok that it records.
type Resource struct{}

var _ Checker = Resource{}

// Name returns "resource".
func (Resource) Name() string { return "resource" }

// About says what is judged, in one line.
func (Resource) About() string {
	return "no update of the guarded counters is lost, and no stale write reaches them"
}

// Check is a pure function of the history.
func (c Resource) Check(h *history.History, o Options) Result {
	if h.Header.Model.Has(history.Semaphore) && h.Header.Permits > 1 {
		return Result{Name: c.Name(), Note: "not judged: holders of a semaphore may write at once"}
	}
	l := newLedger(h, o)
	var findings []Finding
	var broken, why []string
	lost := 0
	for _, counter := range counters(l) {
		found := counter.stale(l)
		findings = append(findings, found...)
		if lie := counter.lie(l); lie != "" {
			broken = append(broken, lie)
		}
		n, doubt := counter.lost(h)
		lost += n
		if doubt != "" {
			why = append(why, doubt)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Event - b.Event })
	r := violated(c.Name(), findings)
	r.LostUpdates = lost
	r.Broken = strings.Join(broken, "; ")
	if r.Verdict == Valid && len(why) > 0 {
		r.Verdict, r.Why = Unknown, strings.Join(why, "; ")
	}
	return r
}

// lost counts the writes that are not in the chain that leads to the last value.
func (c *counter) lost(h *history.History) (n int, doubt string) {
	if len(c.writes) == 0 {
		return 0, ""
	}
	value := c.writes[len(c.writes)-1].value
	if c.final != nil {
		value = *c.final
	}
	byValue := map[int64][]*write{}
	for _, w := range c.writes {
		byValue[w.value] = append(byValue[w.value], w)
	}
	chain, before := 0, len(h.Events)
	for ; value != c.base; value-- {
		w := lastBefore(byValue[value], before)
		switch {
		case w != nil:
			chain++
			before = w.op.Return
		case !slices.ContainsFunc(c.unsure, func(u *write) bool { return u.value == value && u.op.Invoke < before }):
			return 0, fmt.Sprintf("the counter of %q (%s) stood at %d, which nobody had written by %s", c.key, c.form, value, seconds(h.Events[before-1].Time))
		}
	}
	return len(c.writes) - chain, ""
}

// lastBefore is the last of some writes that returned before a position, or nil.
func lastBefore(writes []*write, pos int) *write {
	for i := len(writes) - 1; i >= 0; i-- {
		if writes[i].op.Return < pos {
			return writes[i]
		}
	}
	return nil
}

// stale finds the writes that undid others, and those that came too late.
func (c *counter) stale(l *ledger) []Finding {
	var findings []Finding
	var before, newest *write // the write applied last; the one of the latest holder
	var highest *write        // and the one with the highest token
	for _, w := range c.writes {
		why, other := c.late(l, w, newest, highest)
		f := Finding{
			Rule: "stale-write", Key: c.key, Event: l.index(w.op.Return),
			Text: fmt.Sprintf("%s wrote %d to %q (%s) at %s", client(w.tenure, nil), w.value, c.key, c.form, seconds(l.h.Events[w.op.Return].Time)),
		}
		if other != nil {
			f.Class = StaleWrite
		}
		if before != nil && w.value <= before.value {
			f.Rule, other = "lost-update", cmp.Or(other, before)
			f.Text += fmt.Sprintf(" when it stood at %d: %s undone", before.value, updates(before.value-w.value+1))
		}
		if other != nil {
			f.Text += why
			a, b := w, other // in the order of grants
			if b.grant < a.grant {
				a, b = b, a
			}
			f.Sessions = []string{a.session.Name, b.session.Name}
			f.Events = indexes(l, a.session.Acquire.Invoke, a.grant, b.session.Acquire.Invoke, b.grant, other.op.Return, w.op.Return)
			findings = append(findings, f)
		}
		before = w
		if newest == nil || w.grant > newest.grant {
			newest = w
		}
		if w.hasToken && (highest == nil || w.token > highest.token) {
			highest = w
		}
	}
	return findings
}

// late tells whether a write came after that of a later holder, or with a token that
// was not the highest any more, and whose write it was that it came after.
func (c *counter) late(l *ledger, w, newest, highest *write) (why string, other *write) {
	switch {
	case highest != nil && w.hasToken && w.token < highest.token && highest.session.Owner != w.session.Owner:
		return fmt.Sprintf("; its token %d is below the %d of %s, who had written before", w.token, highest.token, client(highest.tenure, w.tenure)), highest
	case newest != nil && w.grant < newest.grant && newest.session.Owner != w.session.Owner:
		return fmt.Sprintf("; %s, who had written before, was granted it later, at %s",
			client(newest.tenure, w.tenure), seconds(l.h.Events[newest.grant].Time)), newest
	}
	return "", nil
}

// lie says how a plain counter lost an update though no two ever worked at once. Then
// it was not the lock that let two in: whoever kept the counter or wrote the history
// did not do as it says. A touch counts from its call to its return here, because a
// client may stand still in between, and a session from its grant to its last touch.
//
// An update that is lost between two sessions of which each had ended its touches
// before the other was granted is such a lie: 1 reads 5, writes 6 and is done; 2 is
// granted, reads 5, writes 6.
func (c *counter) lie(l *ledger) string {
	if c.form != history.Plain {
		return ""
	}
	for i, w := range c.writes {
		if i == 0 || w.value > c.writes[i-1].value {
			continue
		}
		overlap := slices.ContainsFunc(c.unsure, func(u *write) bool { return u.op.Invoke < w.op.Return })
		for j := i - 1; j >= 0 && !overlap; j-- { // the one that overlaps is mostly a recent one
			x := c.writes[j]
			overlap = x.session != w.session && x.value >= w.value && max(x.most.work.to, x.op.Return) > w.since
		}
		if !overlap {
			return fmt.Sprintf("%s wrote %d to %q (plain) at %s when it stood at %d, but nobody else had worked since %s was granted it at %s",
				client(w.tenure, nil), w.value, c.key, seconds(l.h.Events[w.op.Return].Time), c.writes[i-1].value, client(w.tenure, nil), seconds(l.granted(w.tenure).Time))
		}
	}
	return ""
}

func updates(n int64) string {
	if n == 1 {
		return "1 update was"
	}
	return fmt.Sprintf("%d updates were", n)
}

// indexes says what the history calls the events at some positions.
func indexes(l *ledger, positions ...int) []int {
	out := make([]int, len(positions))
	for i, pos := range positions {
		out[i] = l.index(pos)
	}
	return out
}
