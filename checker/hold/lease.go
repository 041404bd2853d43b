package hold

import (
	"slices"
	"sort"
	"time"

	"lockbench/internal/history"
)

// LeaseKind is the knowledge of the end of a lease.
type LeaseKind uint8

// The kinds of leases.
const (
	NoLease  LeaseKind = iota // the hold never ends by itself
	Bounded                   // it ends at First, which its client knows
	Waited                    // it ends between First and Last: its client waited, and the answer had no end
	Answered                  // it ends between First and Last: its library reports no end, and its client counts from the answer
	Renewed                   // its library keeps it alive, Length at a time
)

// Lease is the lease that a session was granted.
type Lease struct {
	Kind        LeaseKind
	First, Last time.Duration // its earliest and its latest end, or Never
	Counted     time.Duration // Answered: the end up to which the client counted on it
	Length      time.Duration // the requested length, or that of each renewal; 0: unknown
	Period      time.Duration // Renewed: the time between two renewals
}

// period returns the time between two renewals of a lease: what the guest reported, or else a third of the lease. Most
// libraries renew so often.
func period(length, reported time.Duration) time.Duration {
	if reported > 0 {
		return min(reported, length)
	}
	return length / 3
}

// lease returns the lease of an acquire. A client computes the end from the time of its request
// and not from that of the answer: if it is paused inside its acquire, the answer comes late, but
// the lease does not begin later.
func (k *knowledge) lease(s *history.Session) Lease {
	asked, granted := k.History.At(s.Acquire.Invoke), k.History.At(s.Acquire.Return)
	l := Lease{Kind: Bounded, Length: asked.TTL, Period: period(asked.TTL, 0)}
	switch {
	case s.Acquire.Outcome != history.Done && asked.TTL > 0:
		l.Kind, l.First, l.Last = Waited, Later(asked.Time, asked.TTL), Never
	case s.Acquire.Outcome != history.Done:
		l.Kind, l.First, l.Last = NoLease, Never, Never
	case granted.Renewed:
		l = Lease{Kind: Renewed, First: Never, Last: Never, Length: granted.Lease, Period: period(granted.Lease, granted.Period)}
	case granted.Until != nil:
		l.First = Later(asked.Time, *granted.Until)
		l.Last = l.First
	case asked.TTL == 0:
		l.Kind, l.First, l.Last = NoLease, Never, Never
	case granted.FromAnswer:
		l.Kind, l.First, l.Last = Answered, Later(asked.Time, asked.TTL), Later(granted.Time, asked.TTL)
	case asked.Wait == 0:
		l.First = Later(asked.Time, asked.TTL)
		l.Last = l.First
	default:
		// The granted attempt began at some time in the wait. A lease from the start of the
		// wait would end before the grant, and would excuse every overlap.
		l.Kind, l.First, l.Last = Waited, Later(asked.Time, asked.TTL), Later(granted.Time, asked.TTL)
	}
	return l
}

// move is the position of the call or the answer of a renewal, with the known end of the lease
// from there on.
type move struct {
	at          int
	first, last time.Duration // the earliest and the latest end of the lease
	counted     time.Duration // as in [Lease]
	open        int           // the number of unanswered renewals
}

// renewal is a renewal that may have worked.
type renewal struct {
	op       history.Op
	ttl      time.Duration // the requested length; Never if there is none
	asked    time.Duration
	deadline time.Duration // the end if the renewal takes effect at its call
	latest   time.Duration // the end if the client counts from the answer; otherwise the deadline
}

// moves returns the moves of a session in order.
//
// An unanswered renewal may have shortened the lease already, and its client may count on a longer
// lease only after the answer. If two renewals are unanswered at once, it is unknown which one the
// service applies last. A renewal that is never answered may take effect at any later time, and its
// lease counts from that time:
//
//	renew ttl=10s at 4 ms ...(no answer)
//	renew ttl=20s at 5 ms ── ok             the lease may end at 10.005 s, if the first comes last
func (k *knowledge) moves(d *Hold) []move {
	var all []move
	var asked []renewal
	for _, op := range d.Session.Ops {
		if op.F != history.Renew || op.Outcome == history.Failed {
			continue
		}
		r := renewal{op: op, ttl: Never, deadline: Never, asked: k.History.At(op.Invoke).Time}
		if ttl := k.History.At(op.Invoke).TTL; ttl > 0 {
			r.ttl, r.deadline = ttl, Later(r.asked, ttl)
		}
		if op.Outcome == history.Done {
			answer := k.History.At(op.Return)
			if answer.Until != nil {
				r.deadline = Later(r.asked, *answer.Until)
			}
			r.latest = r.deadline
			if answer.FromAnswer && r.ttl != Never {
				r.latest = Later(answer.Time, r.ttl)
			}
			all = append(all, move{at: op.Return})
		}
		asked = append(asked, r)
		all = append(all, move{at: op.Invoke})
	}
	slices.SortFunc(all, func(x, y move) int { return x.at - y.at })
	lease := leases{d: d, answered: -1, shortest: Never, doubted: Never}
	for i := range all {
		m := &all[i]
		for len(asked) > 0 && asked[0].op.Invoke <= m.at {
			lease.ask(asked[0])
			asked = asked[1:]
		}
		lease.answer(m.at)
		m.first, m.last, m.open = lease.ends(m.at)
	}
	return all
}

// leases has the leases of a session that may be in force.
type leases struct {
	d        *Hold
	mayApply []renewal     // answered with ok, now or later; the server may have applied any of them last
	answered int           // the latest call of the answered renewals
	since    time.Duration // the time of that call
	shortest time.Duration // the shortest lease of the earlier renewals that are never answered
	doubted  time.Duration // the earliest end of the leases of later renewals that are never answered
}

func (l *leases) ask(r renewal) {
	if r.op.Outcome == history.Done {
		l.mayApply = append(l.mayApply, r)
		return
	}
	l.shortest, l.doubted = min(l.shortest, r.ttl), min(l.doubted, r.deadline)
}

// answer handles the renewal that is answered at a position, if there is one.
func (l *leases) answer(pos int) {
	i := slices.IndexFunc(l.mayApply, func(r renewal) bool { return r.op.Return == pos })
	if i < 0 {
		return
	}
	if r := l.mayApply[i]; r.op.Invoke > l.answered {
		l.answered, l.since = r.op.Invoke, r.asked
	}
	l.mayApply = slices.DeleteFunc(l.mayApply, func(r renewal) bool { return r.op.Return < l.answered })
	l.doubted = Later(l.since, l.shortest)
}

// ends returns the earliest and the latest end of the lease, and the number of unanswered renewals.
func (l *leases) ends(pos int) (first, last time.Duration, open int) {
	first, last = l.d.Lease.First, l.d.Lease.Last
	if l.answered >= 0 {
		first, last = Never, Never
	}
	for _, r := range l.mayApply {
		first, last = min(first, r.deadline), min(last, r.latest)
		if r.op.Return > pos {
			open++
		}
	}
	return min(first, l.doubted), min(last, l.doubted), open
}

// LeaseEnd returns the earliest and the latest end of the lease by the calls and answers up to a
// position.
func (d *Hold) LeaseEnd(pos int) (first, last time.Duration) {
	n := sort.Search(len(d.moves), func(i int) bool { return d.moves[i].at > pos })
	if n == 0 {
		return d.Lease.First, d.Lease.Last
	}
	return d.moves[n-1].first, d.moves[n-1].last
}

// count computes the ends up to which the client of a session counted on leases whose ends its library does not report.
// It counts from the answer, but a lease that ends unused does no harm. So an end that is later than the one counted from the
// request holds as far as signs of the client show it:
//
//	acquire, ttl 2 s ────────── ok at 1.5 s   write at 2.4 s      counted on up to 2.4 s
//	acquire, ttl 2 s ─ ok at 0.1 s   write at 0.2 s               counted on up to 2 s
func (k *knowledge) count(d *Hold) {
	counted := func(first, last time.Duration) time.Duration {
		if first == last || d.Lease.Kind == Waited {
			return first
		}
		sign := d.lastSign(min(k.After(last), d.Claim.To))
		return max(first, k.time(max(sign, d.Grant)))
	}
	d.Lease.Counted = counted(d.Lease.First, d.Lease.Last)
	for i := range d.moves {
		d.moves[i].counted = counted(d.moves[i].first, d.moves[i].last)
	}
}

// CountedEnd is [Hold.LeaseEnd] for a granted session as its client counted: the earliest end, or that of an Answered lease.
func (d *Hold) CountedEnd(pos int) time.Duration {
	n := sort.Search(len(d.moves), func(i int) bool { return d.moves[i].at > pos })
	if n == 0 {
		return d.Lease.Counted
	}
	return d.moves[n-1].counted
}

// Late reports whether a grant was answered after the latest end of its own lease. The server granted the lock before, and the
// hold was over at the answer. No client can count on such a grant, and it does not overlap with a grant after that lease:
//
//	client 1  acquire ── granted ── its lease ends ──────────── ok
//	client 2                                       acquire ── ok    not while client 1 held
func (b *Book) Late(d *Hold) bool { return d.Granted() && b.latest(d) <= b.time(d.Grant) }

// deadMargin is the least time between the end of a lease, as its library reports it, and the answer. It is more than a busy
// machine needs to deliver a request and an answer.
const deadMargin = 500 * time.Millisecond

// Dead returns the end of a lease that was over long before its library answered, by the end that the library reported with the
// grant. No client can use such a grant, so the library should have refused it:
//
//	client 1  acquire, lease 2 s ── its lease ends ───────────── ok, until 2 s
//
// A stopped client gets a right answer late, and a client whose clock was changed cannot measure time, so a fault that
// stopped the client or changed a clock during the acquire excuses the library.
//
// A lease without a reported end ended by the ttl of its only attempt, unless a fault held up the request or made the library
// send it again. So any fault that concerns the client excuses the library.
func (b *Book) Dead(d *Hold) (end time.Duration, dead bool) {
	if !d.Granted() || d.Grant >= b.Stepped {
		return 0, false
	}
	asked, excuses := d.Session.Acquire.Invoke, (*history.Fault).Misleads
	switch reported := b.History.At(d.Grant).Until != nil; {
	case d.Lease.Kind == Bounded && reported:
	case d.Lease.Kind == Answered && b.History.At(asked).Wait == 0:
		excuses = (*history.Fault).Concerns
	default:
		return 0, false
	}
	if Later(d.Lease.First, deadMargin) > b.time(d.Grant) {
		return 0, false
	}
	for i := range b.History.Faults {
		f := &b.History.Faults[i]
		if f.Begins < d.Grant && (f.Healed < 0 || f.Healed > asked) && excuses(f, d.Session.Client) {
			return 0, false
		}
	}
	return d.Lease.First, true
}

// MayBeLate reports whether a grant may have been answered after the end of its own lease. The server may have granted the lock
// to a waiting client at any time since the request.
//
//	client 1  acquire, waits, ttl=1s  granted at once ─────────────── ok at 1.5 s
//	client 2                                         acquire ok at 1 s
func (b *Book) MayBeLate(d *Hold) bool {
	return b.Late(d) || d.Granted() && (d.Lease.Kind == Waited || d.Lease.Kind == Answered) && d.Lease.First-Slack <= b.time(d.Grant)
}

// latest returns the latest end of a lease that was never renewed.
func (b *Book) latest(d *Hold) time.Duration {
	asked := b.History.At(d.Session.Acquire.Invoke)
	if d.Lease.Kind == Renewed {
		// A library renews from the answer on.
		if asked.Wait == 0 && d.Lease.Length > 0 {
			return Later(asked.Time, d.Lease.Length)
		}
		return Never
	}
	return d.Lease.Last
}

// InTime reports whether the lease of a grant certainly still ran at the answer, whenever the granted attempt began. Two such
// grants that exclude each other were granted in the order of their answers. Otherwise the later one would still have been held
// at the answer to the other one.
func (b *Book) InTime(d *Hold) bool {
	if d.Grant >= b.Stepped {
		return false
	}
	asked := b.History.At(d.Session.Acquire.Invoke)
	first := d.Lease.First
	if d.Lease.Kind == Renewed {
		if d.Lease.Length == 0 {
			return false
		}
		first = Later(asked.Time, d.Lease.Length)
	}
	return first > Later(b.time(d.Grant), Slack)
}
