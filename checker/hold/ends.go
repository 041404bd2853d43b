package hold

import (
	"math"
	"sort"
	"time"

	"lockbench/internal/history"
)

// Ends has the positions at which a session may have ended and must have ended on the lock service. reach.go computes the
// belief of the client.
//
//	   only a release ends it                     may be held
//	├─────────────────────────────────┼· · · · · · · · · · · · · · · ·┤
//	granted                    its lease may have            a definite answer
//	                           run out                       to a release
type Ends struct {
	// Lapse is the position from which the hold may have ended without a request, because its lease
	// may have run out or its client may be dead. If that is impossible, Lapse is the end.
	Lapse int
	// Proven is the call of the last release or renewal that was answered with ok, or -1.
	// If the answer is right, the session held up to that call without a break.
	Proven int
	// Possible is the position from which the hold is certainly over: a release was answered by then,
	// with ok or with "not held". Without such an answer it is Beyond.
	Possible int
}

// Beyond is a position after all events.
const Beyond = math.MaxInt

func (b *Book) ends(d *Hold) Ends {
	e := Ends{Lapse: b.lapse(d), Proven: -1, Possible: Beyond}
	if d.Session.Acquire.Outcome == history.Failed {
		e.Possible = d.Session.Acquire.Return
	}
	for _, op := range d.Session.Ops {
		release := op.F == history.Release
		switch {
		case !release && op.F != history.Renew:
		case op.Outcome == history.Done:
			e.Proven = op.Invoke
			if release {
				e.Possible = min(e.Possible, op.Return)
			}
		case b.NotHeld(op) && d.Granted(): // otherwise the acquire may take effect after the release
			e.Possible = min(e.Possible, op.Return)
		}
	}
	return e
}

// lapse returns the position from which a session may have ended without a request.
func (b *Book) lapse(d *Hold) int {
	return min(b.leaseLapse(d), b.faults.disconnected(d))
}

// leaseLapse returns the position from which the lease of a session may have ended or its client may be dead.
func (b *Book) leaseLapse(d *Hold) int {
	asked := d.Session.Acquire.Invoke
	switch {
	case b.MayBeLate(d):
		first := d.Lease.First
		if d.Renewed() {
			first = b.latest(d)
		}
		return min(d.over, max(asked+1, b.After(first-Slack)))
	case d.Granted() && d.Renewed():
		return max(d.Grant+1, min(b.certain(d), b.After(b.faults.renewable(d)-Slack)))
	case d.Granted():
		return max(d.Grant+1, min(b.certain(d), b.ranOut(d, d.Grant)))
	case d.Lease.Kind == NoLease && b.History.Header.Claims.Renewed:
		return asked + 1 // the library renews only grants whose answer it got
	}
	return max(asked+1, min(d.over, b.runsOut(d.Lease.First)))
}

// ranOut returns the position from which the lease that is in force at a position may have ended. For a lease that was renewed
// too late, that is before the renewal.
func (b *Book) ranOut(d *Hold, pos int) int {
	first, _ := d.LeaseEnd(pos)
	for _, m := range d.moves {
		if m.at <= pos {
			continue
		}
		if at := b.runsOut(first); at <= m.at {
			return at
		}
		first = m.first
	}
	return b.runsOut(first)
}

// Revival is a renewal that was answered with ok after the lease may have ended. From the answer up to Lapse, the session
// certainly holds:
//
//	acquire ok, lease 1 s     renew ── ok, lease 1 s
//	├──────────────────────┤            ├──────────────┤
type Revival struct {
	Renewal history.Op
	Lapse   int
}

// Revivals returns the revivals of a session.
func (b *Book) Revivals(d *Hold) []Revival {
	if !d.Granted() || d.Renewed() || b.MayBeLate(d) {
		return nil
	}
	asked := b.end() // the call of the release, from which the hold may be over
	for _, op := range d.Session.Ops {
		if op.F == history.Release {
			asked = min(asked, op.Invoke)
		}
	}
	var all []Revival
	lapse := d.Ends.Lapse
	for _, op := range d.Session.Ops {
		if op.F != history.Renew || op.Outcome != history.Done || op.Return < lapse || op.Return > asked {
			continue
		}
		if next := min(b.certain(d), b.faults.disconnected(d), b.ranOut(d, op.Return)); next > op.Return {
			all = append(all, Revival{op, next})
			lapse = next
		}
	}
	return all
}

// certain returns the position up to which only a call of the client can have ended a session. A notice may have been true since
// the last sign before it.
func (b *Book) certain(d *Hold) int {
	if d.over == b.end() {
		return d.over
	}
	return max(d.Grant, d.lastSign(d.over)) + 1
}

// Runs reports whether a session's lease certainly had not ended when an operation was answered. Only renewals that were answered
// up to a position count.
func (b *Book) Runs(d *Hold, op history.Op, pos int) bool {
	if d.over <= op.Return {
		return false // the client is dead or knew of the loss
	}
	if b.faults.disconnected(d) < op.Return {
		return false // the hold ends with the connection
	}
	at := b.time(op.Return)
	if !d.Renewed() {
		first, _ := d.LeaseEnd(pos)
		return first == Never || op.Return < b.Stepped && at < first-Slack
	}
	// A library renews from the answer on, as long as it can. If the answer came too late, the
	// first renewal must be over. A library stops renewing when its client calls release, and the
	// last renewal may be a period old by then:
	//
	//	acquire ok, lease 3 s     release at 1 s ─────────── not held at 6 s     no eviction
	if b.Late(d) && at < Later(b.time(d.Grant), d.Lease.Period) {
		return false
	}
	for _, other := range d.Session.Ops {
		if other.F == history.Release && other.Invoke <= op.Invoke {
			if at >= b.time(other.Invoke)+d.Lease.Length-d.Lease.Period-Slack {
				return false
			}
			break
		}
	}
	return at <= b.faults.renewable(d)-Slack
}

// GivenBack reports whether a session certainly does not hold any more at a position.
func (d *Hold) GivenBack(pos int) bool { return d.Ends.Possible < pos }

// Holds reports whether a session was granted before a position, and no earlier request or event may have ended the hold
// or may be moving its lease.
func (b *Book) Holds(d *Hold, pos int) bool {
	if !d.Granted() || d.Grant > pos || d.over < pos || d.asked < pos || b.MayBeLate(d) {
		return false
	}
	n := sort.Search(len(d.moves), func(i int) bool { return d.moves[i].at > pos })
	return n == 0 || d.moves[n-1].open == 0
}

// Free returns the position and the time from which no server can have the hold of a session any more, because it was released or
// its lease has ended at the latest possible time.
func (b *Book) Free(d *Hold, lease time.Duration) (pos int, at time.Duration) {
	s := d.Session
	over := b.end()
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done {
			over = min(over, op.Return)
		}
	}
	at = b.time(over)
	// After the clocks have moved against each other, the end of a lease is unknown.
	if ran := b.After(lease); ran <= b.Stepped && (ran < over || ran == over && lease < at) {
		return max(s.Acquire.Invoke, ran), lease
	}
	return over, at
}

// LeaseOver returns the latest time at which the lease of a session ends on every server, or Never. A server counts a
// lease from its grant. The grant is no later than the answer or, for an acquire with unknown outcome, than the latest
// possible arrival of the request. An acquire without an answer may take effect at any later time. A lease that a library
// renews runs from the last renewal, which is no later than the call of the release, the death of the client, or the
// notice of the loss:
//
//	acquire ok, 8 s ── renewed ── renewed ── release, unknown
//	                                         ├────── 8 s ──────┤ free
func (b *Book) LeaseOver(d *Hold) time.Duration {
	s := d.Session
	if s.Acquire.Return < 0 {
		return Never
	}
	ttl := b.History.At(s.Acquire.Invoke).TTL
	if d.Renewed() && ttl == 0 {
		ttl = d.Lease.Length
	}
	if ttl == 0 {
		return Never
	}
	over := Later(b.counted(s, s.Acquire), ttl)
	for _, op := range s.Ops {
		if op.F != history.Renew || op.Outcome == history.Failed {
			continue
		}
		ttl := b.History.At(op.Invoke).TTL
		if ttl == 0 || op.Return < 0 {
			return Never
		}
		over = max(over, Later(b.counted(s, op), ttl))
	}
	if d.Renewed() {
		over = max(over, b.keptUpTo(d))
	}
	return over
}

// counted returns the latest time from which a server counts the requested lease.
func (b *Book) counted(s *history.Session, op history.Op) time.Duration {
	if op.Outcome == history.Done || op.Outcome == history.Unconfirmed {
		return b.time(op.Return)
	}
	return b.faults.latestEffect(s.Client, op)
}

// keptUpTo returns the end of the lease of a library's last renewal.
func (b *Book) keptUpTo(d *Hold) time.Duration {
	last := d.over // not the last sign, because the library renews up to the death or the notice
	if d.Asked {
		last = min(last, d.Claim.To)
	}
	for _, op := range d.Session.Ops {
		if op.F == history.Release && !(b.Strict && op.Outcome == history.Failed) {
			last = min(last, op.Invoke)
		}
	}
	if last >= b.end() {
		return Never
	}
	return Later(b.faults.latestEffect(d.Session.Client, history.Op{Invoke: last, Return: last}), d.Lease.Length)
}

// HeldTo returns the position up to which a server may keep the hold of a session because of its lease. Notices of the
// client or the library do not matter, because the server does not know them.
func (b *Book) HeldTo(d *Hold) int {
	lease := d.Most.Deadline
	if d.Renewed() && d.over < b.end() {
		lease = Later(b.time(d.over), d.Lease.Length)
	}
	return min(d.Ends.Possible, max(d.Most.Work.To, b.After(Later(lease, Rounding))))
}
