package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// counter is one guarded resource.
type counter struct {
	key, form string
	writes    []*write // writes with ok in the order of their returns
	unsure    []*write // writes with unknown outcome, which may have taken effect
	final     *int64   // the value of the last read after all writes
	base      int64    // the value before the first write
	odd       string   // describes a write that shows that the resource is not a counter
}

// write is a write with ok, or with unknown outcome in the list unsure of a counter.
type write struct {
	*hold.Hold
	op       history.Op
	value    int64
	token    uint64
	hasToken bool
	seen     int64 // the value that the session had read before the write
	hasSeen  bool
	since    int // the grant from which the owner held the key without a break
}

// counters returns the counters in the order of their first operations.
func counters(l *ledger) []*counter {
	type id struct{ key, form string }
	all := map[id]*counter{}
	var order []*counter
	find := func(key, form string) *counter {
		if form == "" {
			form = history.Plain
		}
		c := all[id{key, form}]
		if c == nil {
			c = &counter{key: key, form: form}
			all[id{key, form}] = c
			order = append(order, c)
		}
		return c
	}
	latest := map[*counter]reading{}
	held := unbroken{}
	for _, t := range l.Granted {
		since := held.add(t)
		reads, wrote := map[*counter]reading{}, map[*counter]*write{}
		for _, op := range t.Session.Ops {
			if op.F != history.FRead && op.F != history.Write {
				continue
			}
			called := l.h.At(op.Invoke)
			// A session with several keys guards one resource, which has the name of the first key.
			c := find(t.Session.Keys[0], called.Resource)
			if op.F == history.FRead {
				if op.Outcome == history.Done && l.h.At(op.Return).Value != nil {
					reads[c] = reading{op, *l.h.At(op.Return).Value}
				}
				continue
			}
			w := &write{Hold: t, op: op, hasToken: called.Token != nil, since: since}
			if called.Value != nil {
				w.value = *called.Value
			}
			if called.Token != nil {
				w.token = *called.Token
			}
			if seen, ok := reads[c]; ok && seen.op.Return < op.Invoke {
				w.seen, w.hasSeen = seen.value, true
			}
			if c.odd == "" {
				c.odd = w.odd(l, called.Value != nil, wrote[c])
			}
			wrote[c] = w
			switch op.Outcome {
			case history.Done:
				c.writes = append(c.writes, w)
			case history.Maybe:
				c.unsure = append(c.unsure, w)
			}
		}
		for c, seen := range reads {
			if seen.op.Return > latest[c].op.Return {
				latest[c] = seen
			}
		}
	}
	for _, last := range lastReadings(l.h) {
		c := find(last.key, last.form)
		if last.op.Return > latest[c].op.Return {
			latest[c] = last.reading
		}
	}
	for _, c := range order {
		slices.SortFunc(c.writes, func(a, b *write) int { return cmp.Compare(a.op.Return, b.op.Return) })
		if seen, ok := latest[c]; ok && c.after(seen.op.Invoke) {
			c.final = &seen.value
		}
		if _, read := latest[c]; c.odd == "" && len(c.writes) > 0 && !read {
			c.odd = "no client has read it"
		}
		if len(c.writes) > 0 && c.writes[0].hasSeen {
			c.base = min(c.writes[0].seen, c.writes[0].value)
		}
	}
	return order
}

// odd describes why a write shows that its resource is not a counter: its value is not the read value plus one. It returns an
// empty string for other writes. A client that has entered again may know the value from another of its sessions.
// The format does not require programs to count.
func (w *write) odd(l *ledger, hasValue bool, before *write) string {
	at := fmt.Sprintf("the write of %s at %s", client(w.Hold, nil), secondsAt(l, w.op.Invoke))
	switch {
	case !hasValue:
		return at + " says no value"
	case w.Session.Owner != w.Session.Name:
		return ""
	case before != nil && (before.op.Return < 0 || before.op.Return > w.op.Invoke):
		return "" // the order of two concurrent writes is unknown
	case before != nil && w.value == before.value+1 && (!w.hasSeen || w.seen <= before.value):
		return ""
	case w.hasSeen && w.value != w.seen+1:
		return fmt.Sprintf("%s was of %d, after it had read %d", at, w.value, w.seen)
	}
	return ""
}

// unbroken tracks the end of each owner's hold of each key, including re-entry. A client that enters again may use an earlier
// read: in acquire, read 5, acquire, write 6 the read counts.
type unbroken map[[2]string]hold.Span

// add adds the next grant and returns the grant from which its owner has held without a break.
func (u unbroken) add(t *hold.Hold) (since int) {
	at := [2]string{t.Session.Owner, t.Session.Keys[0]}
	before, ok := u[at]
	if !ok || t.Grant >= before.To {
		before = t.Claim
	}
	// It counts on the key until it releases it, whatever it learned before: an outer
	// hold that is found lost in the end is still the one in which an inner one wrote.
	to := max(before.To, t.Claim.To)
	for _, op := range t.Session.Ops {
		to = max(to, op.Invoke)
	}
	u[at] = hold.Span{From: before.From, To: to}
	return before.From
}

// after reports whether all writes with ok had returned by a position.
func (c *counter) after(pos int) bool {
	return len(c.writes) == 0 || c.writes[len(c.writes)-1].op.Return < pos
}

// reading is a read with ok.
type reading struct {
	op    history.Op
	value int64
}

type lastReading struct {
	reading
	key, form string
}

// lastReadings returns the reads without a session. A read without a key counts only if the history has one key.
func lastReadings(h *history.History) []lastReading {
	open := map[history.Process]int{}
	var all []lastReading
	for pos := range h.Events {
		e := &h.Events[pos]
		if e.F != history.FRead || e.Session != "" {
			continue
		}
		if e.Type == history.Invoke {
			open[e.Process] = pos
			continue
		}
		called, ok := open[e.Process]
		if !ok || e.Type != history.OK || e.Value == nil {
			continue
		}
		asked := &h.Events[called]
		key := cmp.Or(asked.Key, e.Key)
		if key == "" && len(h.Keys) == 1 {
			key = h.Keys[0]
		}
		if key == "" {
			continue
		}
		op := history.Op{F: e.F, Invoke: called, Return: pos, Outcome: history.Done}
		all = append(all, lastReading{reading{op, *e.Value}, key, cmp.Or(asked.Resource, e.Resource)})
	}
	return all
}
