package hold

import (
	"sort"
	"time"
)

// Reach is the belief and the work of a session for one possible end of its lease.
type Reach struct {
	Beliefs  []Span // in order, without overlaps
	Work     Span   // empty if the lease had ended by the grant and was never used
	Deadline time.Duration
	Paused   time.Duration // since when a renewed lease was paused for too long, or -1
}

// believed computes the belief and the work of a granted session from its claim.
func (b *Book) believed(d *Hold) {
	if d.Renewed() {
		d.Least = b.cutOff(d, b.renewed(d))
		d.Most = d.Least
		return
	}
	d.Least = b.leased(d, false)
	d.Most = d.Least
	if d.Lease.Kind == Waited && d.Lease.First != d.Lease.Last {
		d.Most = b.leased(d, true)
	}
}

// leased computes the reach of a lease that ends and that renewals move, with its last or its first possible end.
func (b *Book) leased(d *Hold, last bool) Reach {
	r := Reach{Deadline: d.Lease.Counted, Paused: -1}
	if last {
		r.Deadline = d.Lease.Last
	}
	from := d.Grant
	upTo := func(pos int) {
		next := d.Claim.upTo(from, pos)
		next = next.and(b.upToTime(r.Deadline))
		r.Beliefs = Extend(r.Beliefs, next)
		from = pos
	}
	for _, m := range d.moves {
		if m.at >= d.Claim.To {
			break
		}
		upTo(m.at)
		r.Deadline = m.counted
		if last {
			r.Deadline = m.last
		}
	}
	upTo(d.Claim.To)

	// A lease that ends unused is no mistake of the client, so after the end only signs count.
	r.Work = later(b.upToTime(r.Deadline), b.signed(d))
	if n := len(r.Beliefs); n > 0 {
		r.Work = later(r.Work, r.Beliefs[n-1])
	}
	r.Work.From, r.Work.since = d.Grant, 0
	r.Work = r.Work.and(d.Claim)
	return r
}

// later returns the span that ends later.
func later(a, b Span) Span {
	if a.End().Compare(b.End()) < 0 {
		return b
	}
	return a
}

// renewed computes the reach of a lease that its library renews: the whole claim, except pauses that are too long for renewals.
// After such a pause, the client may still believe until a renewal should have shown the loss. If a sign follows, it
// believes again from there on. Otherwise the lease ended unused.
//
//	granted ── paused for longer than the lease ── renewal due ── sign      believes again
//	granted ── paused for longer than the lease ── renewal due              its work ended with the pause
func (b *Book) renewed(d *Hold) Reach {
	r := Reach{Deadline: Never, Paused: -1}
	next, lapse := d.Claim, -1
	all := b.faults.standstills(stopped{d.Session.Client, d.Lease.Length, d.Lease.Period, true})
	first := sort.Search(len(all), func(i int) bool {
		return all[i].healed < 0 || Later(all[i].woke, d.Lease.Period) > b.time(d.Grant)
	})
	for _, p := range all[first:] {
		if p.begins >= d.Claim.To || lapse >= 0 && d.Sign < next.From {
			break
		}
		due, at := b.end(), Later(p.woke, d.Lease.Period)
		if p.healed >= 0 {
			due = b.After(at)
		}
		if lapse < 0 || p.begins > next.From { // otherwise this pause began inside the previous one
			lapse = p.begins
		}
		r.Beliefs = Extend(r.Beliefs, next.and(Span{To: p.begins}))
		if due >= next.From {
			next.From, next.since = due, at
		}
	}
	if lapse >= 0 && d.Sign < next.From {
		r.Paused = b.time(lapse)
		r.Work = later(Span{To: lapse}, b.signed(d)).and(d.Claim)
		r.Work.From, r.Work.since = d.Grant, 0
		return r
	}
	r.Beliefs = Extend(r.Beliefs, next.and(d.Claim))
	r.Work = d.Claim
	return r
}

// cutOff ends the reach of a renewed lease if a fault of any kind prevented renewals for too long and the client showed no sign
// afterwards. The library then knew by its own clock that the lease was over. A client that continues to work shows
// signs. The last renewal may have come right before the fault took effect, so a sign within a lease after that shows
// only that the lease ran:
//
//	fault took effect              a lease less a period              a lease
//	     ├──────────────────────────────────┼───────── sign ──────────────┤   over, if nothing follows
func (b *Book) cutOff(d *Hold, r Reach) Reach {
	fault, ok := b.faults.unrenewed(d)
	if !ok {
		return r
	}
	at := fault.spent
	if d.Sign >= b.After(at) {
		at = Later(fault.struck, d.Lease.Length)
		if fault.woke <= at || b.time(d.Sign) > at {
			return r
		}
	}
	end := b.After(at)
	if end >= r.Work.To {
		return r
	}
	r.Paused = at
	over := b.upToTime(at)
	if end <= d.Grant {
		over = Span{To: d.Grant}
	}
	over = later(over, b.signed(d))
	r.Work.To, r.Work.until = over.To, over.until
	var before []Span
	for _, s := range r.Beliefs {
		before = Extend(before, s.and(b.upToTime(at)))
	}
	r.Beliefs = before
	return r
}
