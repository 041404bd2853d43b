package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/hold"
	"lockbench/checker/models"
	"lockbench/internal/history"
	"lockbench/locks"
)

// This file alone turns what a history says into what porcupine reads. Two things are
// lost if it is done without care: a call without a return, which porcupine takes for
// impossible and which here may still happen; and the order of events at equal times,
// which is why events are passed by their place and never by their clock.

// reading says what is made into calls.
type reading uint8

const (
	asAnswered reading = iota // what a server answered: acquire, release, renew
	withWork                  // and what clients did as holders
)

// calls are the events of one key as porcupine takes them.
type calls struct {
	key     string
	events  []porcupine.Event
	at      []int // by event: its position in the history
	call    []int // by operation: the place of its call in events
	ops     int
	unknown int
	open    int  // unknown ones, and leases that may end
	joined  bool // an acquire of unknown outcome asked for other keys as well
}

// upTo is the first n events; calls that have not returned by then may still happen.
func (k *calls) upTo(n int) []porcupine.Event { return models.Close(slices.Clone(k.events[:n])) }

// converter collects the calls and returns of a key until they can be put in order.
type converter struct {
	l     *ledger
	as    reading
	k     calls
	items []item
}

// item is an event on its way: before the history's event at its position, or in place of it.
type item struct {
	at     int
	after  bool // in place of it, not before it
	id     int
	client int
	kind   porcupine.EventKind
	call   models.Call
	answer models.Answer
}

// calls makes the calls of some sessions of a key.
func (l *ledger) calls(key string, holds []*hold.Hold, as reading) *calls {
	c := converter{l: l, as: as}
	c.read(holds)
	return c.calls(key)
}

// read counts what some sessions of a key come to. There may be very many keys, so calls
// are made only of those that are judged.
func (c *converter) read(holds []*hold.Hold) {
	c.k, c.items = calls{}, c.items[:0]
	owners := ownerNumbers(holds)
	for i, d := range holds {
		c.session(int32(i+1), int32(owners[i]+1), d)
	}
}

// calls makes those of the key that was read.
func (c *converter) calls(key string) *calls {
	slices.SortStableFunc(c.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.at, b.at), boolOrder(a.after, b.after))
	})
	k := c.k
	k.key, k.call = key, make([]int, k.ops)
	for i, it := range c.items {
		var value any = it.answer
		if it.kind == porcupine.CallEvent {
			k.call[it.id] = i
			value = it.call
		}
		k.events = append(k.events, porcupine.Event{ClientId: it.client, Kind: it.kind, Id: it.id, Value: value})
		k.at = append(k.at, it.at)
	}
	k.events = models.Close(k.events)
	for len(k.at) < len(k.events) {
		k.at = append(k.at, len(c.l.h.Events))
	}
	return &k
}

func boolOrder(a, b bool) int { return count(a) - count(b) }

func (c *converter) session(n, owner int32, d *hold.Hold) {
	s := d.Session
	call := models.Call{Kind: models.Acquire, Shared: s.Mode == locks.Shared, Session: n, Owner: owner, Name: s.Name}
	answer := models.Answer{}
	switch s.Acquire.Outcome {
	case history.Done:
		answer.Outcome = models.OK
	case history.Failed:
		if !c.l.strict(s) {
			return // it claims nothing, and nothing follows it
		}
		answer.Outcome = models.Refused
	default:
		c.k.joined = c.k.joined || len(s.Keys) > 1
	}
	c.add(s, s.Acquire, call, answer)
	for _, op := range s.Ops {
		c.operation(d, op, call)
	}
	end, why := c.end(d)
	if end >= 0 {
		call.Kind, call.Name = models.Expire, why
		c.items = append(c.items, item{at: end, id: c.k.ops, client: int(s.Client), kind: porcupine.CallEvent, call: call})
		c.k.ops++
	}
	// A lease counts also if it ends after the last event: one event more that says
	// nothing, and another session would be left out of a window.
	if end >= 0 || d.Lease.Kind != hold.NoLease {
		c.k.open++
	}
}

func (c *converter) operation(d *hold.Hold, op history.Op, call models.Call) {
	var a models.Answer
	notHeld := c.l.NotHeld(op)
	switch {
	case op.Outcome == history.Done:
		a.Outcome = models.OK
	case notHeld:
		a.Outcome = models.Refused
	case op.Outcome == history.Failed:
		a.Outcome = models.Fail
	}
	switch op.F {
	case history.Release:
		call.Kind = models.Release
		if notHeld && c.l.owned.mayHaveGivenBack(d, op) {
			a.Outcome = models.Unknown // a service that counts by owner means another session
		}
		// A refusal that does not say "not held" says nothing of the lock. Read as
		// ended, the caller's claim is over all the same, as after an unknown one.
		if a.Outcome == models.Fail && !c.l.Strict() {
			a.Outcome = models.Unknown
		}
		// The work of a holder is not a server's answer: what a drawing shows is that
		// two worked at once, not that one of them was told so in the end.
		if c.as == withWork && a.Outcome == models.Refused {
			a.Outcome = models.Unknown
		}
	case history.Renew:
		call.Kind = models.Renew
		if a.Outcome == models.Unknown || c.as == withWork && a.Outcome == models.Refused {
			return
		}
	default:
		if c.as != withWork || a.Outcome != models.OK {
			return
		}
		call.Kind, call.Name = models.Use, op.F+" "+call.Name
	}
	if a.Outcome == models.Fail {
		return
	}
	c.add(d.Session, op, call, a)
}

// add puts an operation where it was invoked and where it returned.
func (c *converter) add(s *history.Session, op history.Op, call models.Call, a models.Answer) {
	id := c.k.ops
	c.k.ops++
	c.items = append(c.items, item{at: op.Invoke, after: true, id: id, client: int(s.Client), kind: porcupine.CallEvent, call: call})
	if a.Outcome == models.Unknown {
		// Also one that returned with info stays open: it may take effect later.
		c.k.unknown++
		c.k.open++
		return
	}
	c.items = append(c.items, item{at: op.Return, after: true, id: id, client: int(s.Client), kind: porcupine.ReturnEvent, answer: a})
}

// end is the position from which a hold may end without a release: its lease has run
// out, or its client is gone. -1 if there is none.
func (c *converter) end(d *hold.Hold) (at int, why string) {
	s := d.Session
	switch {
	case s.Acquire.Outcome == history.Failed || d.Ends.Lapse >= len(c.l.h.Events):
		return -1, ""
	case d.Granted() && !d.Asked && d.Claim.To == d.Ends.Lapse:
		return d.Ends.Lapse, s.Name + " is lost"
	}
	return d.Ends.Lapse, "lease of " + s.Name
}

// What is judged and drawn around a finding: a drawing of more shows nothing, and calls
// that stay open are what makes a search long.
const (
	windowSessions = 16
	windowOpen     = 6
)

// window makes the calls of the sessions that a finding is about and of those nearest
// to it on the same key.
func (l *ledger) window(f Finding, as reading) *calls {
	about := l.holdsOf(f)
	key := f.Key
	if key == "" && len(about) > 0 {
		key = about[0].Session.Keys[0]
	}
	at := l.h.Events[f.Event].Time
	var others []*hold.Hold
	for i := range l.All() {
		// An attempt that may never have happened explains nothing that is wrong.
		if d := &l.All()[i]; d.Granted() && slices.Contains(d.Session.Keys, key) && !slices.Contains(about, d) {
			others = append(others, d)
		}
	}
	slices.SortStableFunc(others, func(a, b *hold.Hold) int {
		return cmp.Compare(l.distance(a.Session, at), l.distance(b.Session, at))
	})
	all, open := about, 0
	for _, d := range others {
		if len(all) >= windowSessions {
			break
		}
		if n := l.calls(key, []*hold.Hold{d}, as).open; open+n <= windowOpen {
			all, open = append(all, d), open+n
		}
	}
	slices.SortFunc(all, func(a, b *hold.Hold) int { return a.Session.Acquire.Invoke - b.Session.Acquire.Invoke })
	return l.calls(key, all, as)
}

// distance is how much time lies between a session and a moment; 0 around it. Counted in
// events, one that says nothing would move a session away, and another answer be named.
func (l *ledger) distance(s *history.Session, at time.Duration) time.Duration {
	last := max(s.Acquire.Invoke, s.Acquire.Return)
	for _, op := range s.Ops {
		last = max(last, op.Invoke, op.Return)
	}
	return max(0, l.h.Events[s.Acquire.Invoke].Time-at, at-l.h.Events[last].Time)
}

func (l *ledger) holdsOf(f Finding) []*hold.Hold {
	var all []*hold.Hold
	for i := range l.All() {
		if d := &l.All()[i]; slices.Contains(f.Sessions, d.Session.Name) {
			all = append(all, d)
		}
	}
	return all
}

// marks are the faults of the time that the calls span, and the finding.
func (l *ledger) marks(k *calls, f Finding) []models.Mark {
	if len(k.events) == 0 {
		return nil
	}
	// place is the first event that does not stand before a position.
	place := func(pos int) int {
		at, _ := slices.BinarySearch(k.at, pos)
		return min(at, len(k.at)-1)
	}
	at := place(f.Event)
	marks := []models.Mark{{Lane: "finding", From: at, To: at, Text: strings.TrimSpace(f.Rule + " " + f.Class.String()), Details: f.Text}}
	first, last := k.at[0], k.at[len(k.at)-1]
	mark := func(from, to int, name, text string, targets []string) {
		if to < first || from > last {
			return
		}
		told := strings.TrimSpace(name + " " + text + " " + strings.Join(targets, ", "))
		marks = append(marks, models.Mark{Lane: "faults", From: place(from), To: place(to), Fault: true,
			Text: name, Details: fmt.Sprintf("%s from %s", told, seconds(l.h.Events[from].Time))})
	}
	for _, f := range l.h.Faults() {
		to := f.Healed
		if to < 0 {
			to = len(l.h.Events) - 1
		}
		if f.Began() {
			mark(f.Begins, to, f.Name, f.Text, f.Targets)
		}
	}
	for _, pos := range l.h.NemesisAt() { // of another tool: the history does not say how long
		switch e := &l.h.Events[pos]; {
		case e.Extra == nil:
			mark(pos, pos, e.F, "", nil)
		case e.Extra.Phase == "":
			mark(pos, pos, e.F, e.Extra.Text, e.Extra.Targets)
		}
	}
	slices.SortStableFunc(marks[1:], func(a, b models.Mark) int { return cmp.Or(a.From-b.From, strings.Compare(a.Text, b.Text)) })
	return marks
}
