package hold

import (
	"sort"

	"lockbench/internal/history"
)

// This file is about locks whose holds end with their clients' connections, as the header
// claims with "session".
//
// Nobody is told when a connection ends, least of all the client: it works on until it
// asks something. What a history tells are the faults that may have closed it. From the
// first of them on the service may have ended the hold, at once or later, and from there on
// only a sign shows that the client still counts on it:
//
//	granted          fault begins          last sign           release called
//	   ├──────────────────┼────────────────────┤· · · · · · · · · · ·┤
//	   believes and works, to the last sign; or to the fault, if that comes later

// closing is a stretch in which the connection of a client may be closed: positions, and -1
// for one that lasts to the end.
type closing struct{ begins, healed int }

// closings are those of a client, in order and apart from each other.
func (b *Book) closings(client int32) []closing {
	if all, ok := b.closed[client]; ok {
		return all
	}
	var all []closing
	for _, f := range b.h.Faults() { // in the order in which they began
		if !f.Disconnects(client) {
			continue
		}
		next := closing{f.Begins, f.Healed}
		if n := len(all); n > 0 && (all[n-1].healed < 0 || next.begins < all[n-1].healed) {
			if last := &all[n-1]; last.healed >= 0 && (next.healed < 0 || next.healed > last.healed) {
				last.healed = next.healed
			}
			continue
		}
		all = append(all, next)
	}
	b.closed[client] = all
	return all
}

// unlinked is the position from which the connection of a session may have been closed; the
// end if nothing is told that may have done so. A fault that was over before the session
// asked closed other connections.
func (b *Book) unlinked(s *history.Session) int {
	if !b.Linked() {
		return b.end()
	}
	asked := s.Acquire.Invoke
	all := b.closings(s.Client)
	first := sort.Search(len(all), func(i int) bool { return all[i].healed < 0 || all[i].healed > asked })
	if first == len(all) {
		return b.end()
	}
	return max(all[first].begins, asked+1)
}

// cutShort ends the reach of a session whose connection may have been closed, and whose
// client showed nothing from some moment after that on.
func (b *Book) cutShort(d *Hold, r Reach) Reach {
	over := Span{To: max(d.Grant, d.Unlinked)}
	if d.Sign >= over.To { // certain up to a sign, and no further
		over = Span{To: d.Sign + 1, until: b.time(d.Sign)}
	}
	if over.To >= r.Work.To {
		return r
	}
	r.Work.To, r.Work.until = over.To, over.until
	var before []Span
	for _, s := range r.Beliefs {
		before = Extend(before, s.and(over))
	}
	r.Beliefs = before
	return r
}

// linkedLapse is where a session that ends with its connection may have ended by itself,
// given the same of its lease. Of an acquire of unknown outcome the client may have closed the
// connection, for nobody works with one that does not answer.
func (b *Book) linkedLapse(d *Hold, lease int) int {
	asked := d.Session.Acquire.Invoke
	switch {
	case !d.Granted():
		return asked + 1
	case b.MayBeLate(d):
		return max(asked+1, min(lease, d.Unlinked))
	}
	return max(d.Grant+1, min(lease, d.Unlinked))
}
