package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// resource checks which writes reached the resource that the lock guards: a counter for each key
// and form, to which each client writes the value that it has read, plus one. It does not depend on
// the rules of locks, so it is evidence that is independent of the other checks.
//
// A write is lost if it is not in the chain of writes that leads to the counter's last
// value. Take two clients that both read 5:
//
//	write 6, write 7, write 8 by one      write 6 by the other, late      write 7 by the next one
//	   lost     lost     lost                     in the chain                     in the chain
//
// The only finding is the late write, which undid three writes. The write of 7 after it is right,
// although 7 is less than the earlier 8. So a write is compared with the current value of the
// counter, and not with its highest value.
//
// Writes count in the order of their returns: the host applies a write between the
// client's answer and the ok that it records.
func resource(l *ledger, _ Report) Result {
	h := l.h
	var findings []Finding
	var broken, why, notes []string
	lost := []int{}
	for _, counter := range counters(l) {
		findings = append(findings, counter.stale(l)...)
		if counter.odd != "" {
			notes = append(notes, fmt.Sprintf("the resource of %q (%s) is not judged as a counter: %s", counter.key, counter.form, counter.odd))
			continue
		}
		if wrong := counter.contradiction(l); wrong != "" {
			broken = append(broken, wrong)
		}
		missing, doubt := counter.lost(h)
		lost = append(lost, missing...)
		if doubt != "" {
			why = append(why, doubt)
		}
	}
	r := violated(findings)
	if len(why)+len(notes) == 0 {
		r.Lost = lost
	}
	r.LostUpdates, r.Note = len(lost), strings.Join(notes, "; ")
	r.Broken = strings.Join(broken, "; ")
	if r.Verdict == Valid && len(why) > 0 {
		r.Verdict, r.Why = Unknown, strings.Join(why, "; ")
	}
	return r
}

// lost returns the positions at which the writes were answered that are not in the chain that leads to the last value.
func (c *counter) lost(h *history.History) (missing []int, doubt string) {
	if len(c.writes) == 0 {
		return nil, ""
	}
	value := c.writes[len(c.writes)-1].value
	if c.final != nil {
		value = *c.final
	}
	byValue := map[int64][]*write{}
	for _, w := range c.writes {
		byValue[w.value] = append(byValue[w.value], w)
	}
	unsure := map[int64]int{} // by value: the position of its first write of unknown outcome
	for _, u := range c.unsure {
		if at, ok := unsure[u.value]; !ok || u.op.Invoke < at {
			unsure[u.value] = u.op.Invoke
		}
	}
	chain, before := map[*write]bool{}, len(h.Events)
	for ; value != c.base; value-- {
		w := lastBefore(byValue[value], before)
		asked, may := unsure[value]
		switch {
		case w != nil:
			chain[w] = true
			before = w.op.Return
		case !may || asked >= before:
			return nil, fmt.Sprintf("the counter of %q (%s) stood at %d, which no client had written by %s", c.key, c.form, value, seconds(h.Events[before-1].Time))
		}
	}
	for _, w := range c.writes {
		if !chain[w] {
			missing = append(missing, w.op.Return)
		}
	}
	return missing, ""
}

// lastBefore returns the last write that returned before a position, or nil.
func lastBefore(writes []*write, pos int) *write {
	for i := len(writes) - 1; i >= 0; i-- {
		if writes[i].op.Return < pos {
			return writes[i]
		}
	}
	return nil
}

// stale finds the writes that undid other writes, and the writes that came too late.
func (c *counter) stale(l *ledger) []Finding {
	var findings []Finding
	var before *write         // the last applied write
	var grants latest[int]    // the latest holders that have written, of different owners
	var tokens latest[uint64] // the writers with the highest tokens, of different owners
	last := map[*hold.Hold]*write{}
	for _, w := range c.writes {
		why, other := c.late(l, w, last[grants.other(w.Hold)], last[tokens.other(w.Hold)])
		f := Finding{
			Rule: "stale-write", Key: c.key, Event: w.op.Return,
			Text: fmt.Sprintf("%s wrote %d to %q (%s) at %s", client(w.Hold, nil), w.value, c.key, c.form, secondsAt(l, w.op.Return)),
		}
		if other != nil {
			f.Class = StaleWrite
		}
		if before != nil && w.value <= before.value && c.odd == "" {
			f.Rule, other = "lost-update", cmp.Or(other, before)
			f.Text += fmt.Sprintf(" when it stood at %d: %s undone", before.value, updates(before.value-w.value+1))
		}
		if other != nil {
			f.Text += why
			a, b := w, other // in the order of grants
			if b.Grant < a.Grant {
				a, b = b, a
			}
			f.Sessions = []string{a.Session.Name, b.Session.Name}
			f.Events = []int{a.Session.Acquire.Invoke, a.Grant, b.Session.Acquire.Invoke, b.Grant, other.op.Return, w.op.Return}
			findings = append(findings, f)
		}
		before, last[w.Hold] = w, w
		grants.add(w.Hold, w.Grant)
		if w.hasToken {
			tokens.add(w.Hold, w.token)
		}
	}
	return findings
}

// late describes a write that came after the write of another owner that was granted the lock later or
// had a higher token. It also returns that other write.
func (c *counter) late(l *ledger, w, newest, highest *write) (why string, other *write) {
	switch {
	case highest != nil && w.hasToken && w.token < highest.token:
		return fmt.Sprintf("; its token %d is below the %d of %s, which had written before", w.token, highest.token, client(highest.Hold, w.Hold)), highest
	case newest != nil && w.Grant < newest.Grant:
		return fmt.Sprintf("; %s, which had written before, was granted it later, at %s",
			client(newest.Hold, w.Hold), secondsAt(l, newest.Grant)), newest
	}
	return "", nil
}

// contradiction describes a lost update of a plain counter that no overlap of holds explains: the recorder or the counter is at fault.
// Here an operation on the counter lasts from its call to its return, because a client may be stopped in between, and the work of
// a session lasts from its grant to its last operation.
//
// For example, client 1 reads 5, writes 6 and is finished. Then client 2 is granted the lock, reads 5 and writes 6.
func (c *counter) contradiction(l *ledger) string {
	if c.form != history.Plain {
		return ""
	}
	unsure := len(l.h.Events) // the first call of a write of unknown outcome
	for _, u := range c.unsure {
		unsure = min(unsure, u.op.Invoke)
	}
	worked := newWorked(c.writes)
	for i, w := range c.writes {
		if i > 0 && w.value <= c.writes[i-1].value && unsure >= w.op.Return && worked.to(w) <= w.since {
			return fmt.Sprintf("%s wrote %d to %q (plain) at %s when it stood at %d, but no other client had worked since %s was granted it at %s",
				client(w.Hold, nil), w.value, c.key, secondsAt(l, w.op.Return), c.writes[i-1].value, client(w.Hold, nil), secondsAt(l, w.Grant))
		}
		worked.add(w)
	}
	return ""
}

// worked has, for each value, the position up to which other sessions worked that wrote at least that value. It is a binary
// indexed tree over the values, the highest first.
type worked struct {
	values []int64
	nodes  []lastTwo
}

// lastTwo has the two sessions that worked longest, the longest first.
type lastTwo [2]workedTo

type workedTo struct {
	session *history.Session
	to      int
}

func newWorked(writes []*write) worked {
	var values []int64
	for _, w := range writes {
		values = append(values, w.value)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	return worked{values, make([]lastTwo, len(values)+1)}
}

// node returns the index of a value in the tree.
func (a worked) node(value int64) int {
	at, _ := slices.BinarySearch(a.values, value)
	return len(a.values) - at
}

func (a worked) add(w *write) {
	for i := a.node(w.value); i < len(a.nodes); i += i & -i {
		a.nodes[i].add(w.Session, max(w.Most.Work.To, w.op.Return))
	}
}

// to returns the position up to which a session other than that of a write worked, if it has written at least its value; or 0.
func (a worked) to(w *write) (to int) {
	for i := a.node(w.value); i > 0; i -= i & -i {
		for _, x := range a.nodes[i] {
			if x.session != w.Session {
				to = max(to, x.to)
			}
		}
	}
	return to
}

func (l *lastTwo) add(s *history.Session, to int) {
	switch {
	case s == l[0].session:
		l[0].to = max(l[0].to, to)
	case to > l[0].to:
		l[0], l[1] = workedTo{s, to}, l[0]
	case to > l[1].to:
		l[1] = workedTo{s, to}
	}
}

func updates(n int64) string {
	if n == 1 {
		return "1 update was"
	}
	return fmt.Sprintf("%d updates were", n)
}

// latest has the two highest holds of different owners, by their tokens or by their grants, the highest first. A hold never
// conflicts with another hold of its owner, so two are enough.
type latest[T cmp.Ordered] [2]struct {
	hold *hold.Hold
	rank T
}

func (l *latest[T]) add(t *hold.Hold, rank T) {
	first, second := &l[0], &l[1]
	switch owner := t.Session.Owner; {
	case first.hold == nil || rank > first.rank:
		if first.hold != nil && first.hold.Session.Owner != owner {
			*second = *first
		}
		first.hold, first.rank = t, rank
	case owner != first.hold.Session.Owner && (second.hold == nil || rank > second.rank):
		second.hold, second.rank = t, rank
	}
}

// other returns the highest hold whose owner is not that of t, or nil.
func (l *latest[T]) other(t *hold.Hold) *hold.Hold {
	if l[0].hold != nil && l[0].hold.Session.Owner == t.Session.Owner {
		return l[1].hold
	}
	return l[0].hold
}
