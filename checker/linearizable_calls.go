package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/hold"
	"lockbench/checker/internal/models"
	"lockbench/internal/history"
	"lockbench/locks"
)

// This file converts a history to events for porcupine. Two points need care. porcupine rejects a
// call without a return, although the call may have taken effect. And events with equal times have an
// order, so porcupine gets their positions and not their times.

// calls are the events of one key in the form that porcupine reads.
type calls struct {
	l       *ledger
	work    bool // includes the work of holders; otherwise only acquire, release and renew
	key     string
	events  []event
	ops     int
	unknown int
	joined  bool // an acquire with an unknown outcome had other keys too
}

// event is an event at a position of the history, or right before it.
type event struct {
	porcupine.Event
	at     int
	before bool
}

// newCalls returns the calls of some sessions of a key.
func newCalls(l *ledger, key string, holds []*hold.Hold, work bool) *calls {
	c := &calls{l: l, key: key, work: work}
	owners := ownerNumbers(holds)
	for i, d := range holds {
		c.session(int32(i+1), int32(owners[i]+1), d)
	}
	slices.SortStableFunc(c.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), count(b.before)-count(a.before))
	})
	return c
}

// upTo returns the first n events. Calls that have not returned by then may still take effect.
func (c *calls) upTo(n int) []porcupine.Event {
	var events []porcupine.Event
	for _, e := range c.events[:n] {
		events = append(events, e.Event)
	}
	return models.Close(events)
}

// call returns the index of the call that belongs to an event.
func (c *calls) call(at int) int {
	return slices.IndexFunc(c.events, func(e event) bool { return e.Id == c.events[at].Id })
}

// indexAt returns the index of the first event at or after a position.
func (c *calls) indexAt(pos int) int {
	at, _ := slices.BinarySearchFunc(c.events, pos, func(e event, pos int) int { return cmp.Compare(e.at, pos) })
	return at
}

func (c *calls) session(n, owner int32, d *hold.Hold) {
	s := d.Session
	call := models.Call{Kind: models.Acquire, Shared: s.Mode == locks.Shared, Session: n, Owner: owner, Name: s.Name}
	outcome := models.Unknown
	switch s.Acquire.Outcome {
	case history.Done:
		outcome = models.OK
	case history.Failed:
		if !c.l.strict(s) {
			return // the session does not hold, and no operation follows
		}
		outcome = models.Refused
	default:
		c.joined = c.joined || len(s.Keys) > 1
	}
	c.add(s, s.Acquire, call, outcome)
	for _, op := range s.Ops {
		c.operation(d, op, call)
	}
	end, why := c.end(d)
	if end >= 0 {
		call.Kind, call.Name = models.Expire, why
		c.events = append(c.events, event{porcupine.Event{ClientId: int(s.Client), Kind: porcupine.CallEvent, Id: c.ops, Value: call}, end, true})
		c.ops++
	}
}

func (c *calls) operation(d *hold.Hold, op history.Op, call models.Call) {
	outcome := models.Unknown
	notHeld := c.l.NotHeld(op)
	switch {
	case op.Outcome == history.Done:
		outcome = models.OK
	case notHeld:
		outcome = models.Refused
	case op.Outcome == history.Failed && (op.F != history.Release || c.l.Strict):
		return // the answer proves nothing about the lock; with --release ended, a failed release still ends the hold
	}
	switch op.F {
	case history.Release:
		call.Kind = models.Release
		if notHeld && c.l.owned.mayHaveGivenBack(d, op) {
			outcome = models.Unknown // the service counts by owner, so it may have released another session
		}
		// The work of a holder is not an answer of a server. A drawing shows that two clients worked at
		// once, and not whether they noticed that at the end.
		if c.work && outcome == models.Refused {
			outcome = models.Unknown
		}
	case history.Renew:
		call.Kind = models.Renew
		if outcome == models.Unknown || c.work && outcome == models.Refused {
			return
		}
	default:
		if !c.work || outcome != models.OK {
			return
		}
		call.Kind, call.Name = models.Use, op.F+" "+call.Name
	}
	c.add(d.Session, op, call, outcome)
}

// add adds the call and the return of an operation.
func (c *calls) add(s *history.Session, op history.Op, call models.Call, outcome models.Outcome) {
	e := porcupine.Event{ClientId: int(s.Client), Kind: porcupine.CallEvent, Id: c.ops, Value: call}
	c.ops++
	c.events = append(c.events, event{Event: e, at: op.Invoke})
	if outcome == models.Unknown {
		// An operation that returned with info stays open, because it may take effect later.
		c.unknown++
		return
	}
	e.Kind, e.Value = porcupine.ReturnEvent, outcome
	c.events = append(c.events, event{Event: e, at: op.Return})
}

// end returns the position from which a hold may end without a release, because its lease has run
// out or its client is gone. Without such a position it returns -1.
func (c *calls) end(d *hold.Hold) (at int, why string) {
	s := d.Session
	switch {
	case s.Acquire.Outcome == history.Failed || d.Ends.Lapse >= len(c.l.h.Events):
		return -1, ""
	case d.Granted() && !d.Asked && d.Claim.To == d.Ends.Lapse:
		return d.Ends.Lapse, s.Name + " is lost"
	}
	return d.Ends.Lapse, "lease of " + s.Name
}

// callsOfFinding returns the calls of the sessions that a finding names.
func callsOfFinding(l *ledger, f Finding, work bool) *calls {
	var holds []*hold.Hold
	for i := range l.All {
		if d := &l.All[i]; slices.Contains(f.Sessions, d.Session.Name) {
			holds = append(holds, d)
		}
	}
	key := f.Key
	if key == "" && len(holds) > 0 {
		key = holds[0].Session.Keys[0]
	}
	return newCalls(l, key, holds, work)
}

// marks returns the faults during the calls, and the finding.
func marks(l *ledger, k *calls, f Finding) []porcupine.Annotation {
	if len(k.events) == 0 {
		return nil
	}
	place := func(pos int) int64 { return int64(min(k.indexAt(pos), len(k.events)-1)) }
	at := place(f.Event)
	finding := porcupine.Annotation{Tag: "finding", Start: at, End: at, Details: f.Text,
		Description: strings.TrimSpace(f.Rule + " " + f.Class.String()), BackgroundColor: "#dfe7ef", TextColor: "#1f2d3d"}
	var faults []porcupine.Annotation
	first, last := k.events[0].at, k.events[len(k.events)-1].at
	mark := func(from, to int, name, text string, targets []string) {
		if to < first || from > last {
			return
		}
		details := strings.TrimSpace(name + " " + text + " " + strings.Join(targets, ", "))
		faults = append(faults, porcupine.Annotation{Tag: "faults", Start: place(from), End: place(to), Description: name,
			Details: fmt.Sprintf("%s from %s", details, secondsAt(l, from)), BackgroundColor: "#f4c7c3", TextColor: "#5f1410"})
	}
	for _, f := range l.h.Faults {
		to := f.Healed
		if to < 0 {
			to = len(l.h.Events) - 1
		}
		if f.Began() {
			mark(f.Begins, to, f.Name, f.Text, f.Targets)
		}
	}
	for _, pos := range l.h.Nemesis { // a history of another tool does not have the length of its faults
		if e := &l.h.Events[pos]; e.Phase == "" {
			mark(pos, pos, e.F, e.Text, e.Targets)
		}
	}
	slices.SortStableFunc(faults, func(a, b porcupine.Annotation) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.Description, b.Description))
	})
	return append([]porcupine.Annotation{finding}, faults...)
}
