package hold

import (
	"math"
	"sort"
	"time"

	"lockbench/internal/history"
)

// Ends is where a session may have ended and must have ended, as its lock service may know it.
// reach.go answers the other question: what the client could believe.
//
//	   nothing but a release ended it             may be held
//	├─────────────────────────────────┼· · · · · · · · · · · · · · · ·┤
//	granted                    its lease may have            a definite answer
//	                           run out                       to a release
type Ends struct {
	// Lapse is the position from which it may have ended although no client asked for that:
	// its lease may have run out, or its client may be dead. If it cannot, Lapse is the end.
	Lapse int
	// Proven is the call of the last release or renewal that was answered with ok, or -1.
	// If the answer is true, the session held without a break up to there.
	Proven int
	// Possible is the position from which it certainly is held no more: a release was
	// answered by then, with ok or with "not held". Without such an answer it is Beyond.
	Possible int
}

// Beyond is a position that is never reached.
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
		case b.NotHeld(op) && d.Granted(): // else the acquire may take effect after it
			e.Possible = min(e.Possible, op.Return)
		}
	}
	return e
}

// NotHeld tells whether an operation was answered with "not held".
func (b *Book) NotHeld(op history.Op) bool {
	return op.Outcome == history.Failed && b.History.At(op.Return).Error == history.ErrorNotHeld
}

// lapse is where a session may have ended by itself.
func (b *Book) lapse(d *Hold) int {
	return min(b.leaseLapse(d), b.disconnected(d))
}

// leaseLapse is where the lease of a session may have run out, or its client may have died.
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
		return max(d.Grant+1, min(b.certain(d), b.After(b.renewable(d)-Slack)))
	case d.Granted():
		return max(d.Grant+1, min(b.certain(d), b.ranOut(d, d.Grant)))
	case d.Lease.Kind == NoLease && b.History.Header.Claims.Renewed:
		return asked + 1 // the library renews what it was granted, and it has not heard of this one
	}
	return max(asked+1, min(d.over, b.runsOut(d.Lease.First)))
}

// ranOut is the position from which the lease that is in force at a position may have been
// over: of one that was renewed too late, that is before the renewal.
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

// Revival is a renewal that was answered with ok after the lease may have run out. From the
// answer on the session certainly holds, up to Lapse:
//
//	acquire ok, lease 1 s     renew ── ok, lease 1 s
//	├──────────────────────┤            ├──────────────┤
type Revival struct {
	Renewal history.Op
	Lapse   int
}

// Revivals returns those of a session.
func (b *Book) Revivals(d *Hold) []Revival {
	if !d.Granted() || d.Renewed() || b.MayBeLate(d) {
		return nil
	}
	asked := b.end() // to release it: from there on it may be over
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
		if next := min(b.certain(d), b.disconnected(d), b.ranOut(d, op.Return)); next > op.Return {
			all = append(all, Revival{op, next})
			lapse = next
		}
	}
	return all
}

// runsOut is the position from which a lease may be over that ends at a time.
func (b *Book) runsOut(at time.Duration) int {
	if at == Never {
		return b.end()
	}
	return min(b.After(at-Slack), b.Stepped)
}

// certain is the position up to which only a call of its own can have ended a session:
// a later notice may have been true since its last sign.
func (b *Book) certain(d *Hold) int {
	if d.over == b.end() {
		return d.over
	}
	return max(d.Grant, d.lastSign(d.over)) + 1
}

// renewable is the time up to which the library of a session certainly could keep its
// lease alive, as far as it was not released; or Never.
func (b *Book) renewable(d *Hold) time.Duration {
	if fault, ok := b.unrenewed(d); ok {
		return fault.spent
	}
	return Never
}

// unrenewed is the first stretch in which the lease of a session may not have been renewed
// for too long. A pause that was over before the answer was read counts if the answer may
// have lain there unread.
func (b *Book) unrenewed(d *Hold) (standstill, bool) {
	asked, granted := d.Session.Acquire.Invoke, b.time(d.Grant)
	all := b.standstills(stopped{d.Session.Client, d.Lease.Length, false})
	first := sort.Search(len(all), func(i int) bool { return all[i].healed < 0 || all[i].healed > asked })
	for _, p := range all[first:] {
		if p.healed < 0 || p.healed > d.Grant || Later(p.woke, period(d.Lease.Length)) > granted {
			return p, true // those that follow began later
		}
	}
	return standstill{}, false
}

// Runs tells whether a session's lease certainly had not run out when an operation was
// answered, if the renewals count that were answered up to a position.
func (b *Book) Runs(d *Hold, op history.Op, pos int) bool {
	if d.over <= op.Return {
		return false // its client is dead, or knew that it is lost
	}
	if b.disconnected(d) < op.Return {
		return false // the lock says that its hold ends with the connection
	}
	at := b.time(op.Return)
	if !d.Renewed() {
		first, _ := d.LeaseEnd(pos)
		return first == Never || op.Return < b.Stepped && at < first-Slack
	}
	// A library renews from the answer on, for as long as it can. If the answer came too late, the
	// first renewal must be over. A library stops renewing when its client calls release, and the
	// last renewal may be a period old by then:
	//
	//	acquire ok, lease 3 s     release at 1 s ─────────── not held at 6 s     no eviction
	if b.Late(d) && at < Later(b.time(d.Grant), period(d.Lease.Length)) {
		return false
	}
	for _, other := range d.Session.Ops {
		if other.F == history.Release && other.Invoke <= op.Invoke {
			if at >= b.time(other.Invoke)+d.Lease.Length-period(d.Lease.Length)-Slack {
				return false
			}
			break
		}
	}
	return at <= b.renewable(d)-Slack
}

// disconnected is the position from which a fault may have ended the connection of a session's client, if the
// lock says that its holds end with the connection; else the end.
func (b *Book) disconnected(d *Hold) int {
	if !b.History.Header.Claims.Session {
		return b.end()
	}
	asked := d.Session.Acquire.Invoke
	for _, f := range b.History.Faults {
		if (f.Healed < 0 || f.Healed > asked) && f.Disconnects(d.Session.Client) {
			return max(f.Begins, asked+1)
		}
	}
	return b.end()
}

// GivenBack tells whether a session certainly holds nothing any more at a position.
func (d *Hold) GivenBack(pos int) bool { return d.Ends.Possible < pos }

// Holds tells whether a session was granted by a position, and nothing that was asked or
// seen before it may have ended it, or may be moving its lease.
func (b *Book) Holds(d *Hold, pos int) bool {
	if !d.Granted() || d.Grant > pos || d.over < pos || d.asked < pos || b.MayBeLate(d) {
		return false
	}
	n := sort.Search(len(d.moves), func(i int) bool { return d.moves[i].at > pos })
	return n == 0 || d.moves[n-1].open == 0
}

// Free is the position, and the time, from which no server can know of a session any more:
// it was released, or its lease has run out, which ends at a given time at the latest.
func (b *Book) Free(d *Hold, lease time.Duration) (pos int, at time.Duration) {
	s := d.Session
	over := b.end()
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome == history.Done {
			over = min(over, op.Return)
		}
	}
	at = b.time(over)
	// After the clocks moved against each other, no lease is known to be over.
	if ran := b.After(lease); ran <= b.Stepped && (ran < over || ran == over && lease < at) {
		return max(s.Acquire.Invoke, ran), lease
	}
	return over, at
}

// LeaseOver is when the lease of a session has run out on every server, at the latest; or Never.
// A server counts a lease from its grant, which is no later than the answer, or for an acquire of
// unknown outcome, than it may have arrived. An acquire that was never answered may take effect at
// any later time. A lease that a library renews runs from the last renewal, which is no later than
// the call of the release, the death of the client, or the news that the lock is lost:
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

// counted is the latest time from which a server counts the lease that was asked for.
func (b *Book) counted(s *history.Session, op history.Op) time.Duration {
	if op.Outcome == history.Done {
		return b.time(op.Return)
	}
	return b.latestEffect(s.Client, op)
}

// keptUpTo is when the lease of a library's last renewal is over.
func (b *Book) keptUpTo(d *Hold) time.Duration {
	last := d.over // not the last sign: the library renews up to the death or the news
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
	return Later(b.latestEffect(d.Session.Client, history.Op{Invoke: last, Return: last}), d.Lease.Length)
}

// HeldTo is the position up to which a server may keep a session, as far as its lease goes.
// Notices of its client or its library do not matter to a server.
func (b *Book) HeldTo(d *Hold) int {
	lease := d.Most.Deadline
	if d.Renewed() && d.over < b.end() {
		lease = Later(b.time(d.over), d.Lease.Length)
	}
	return min(d.Ends.Possible, max(d.Most.Work.To, b.After(Later(lease, Rounding))))
}
