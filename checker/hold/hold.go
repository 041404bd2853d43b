// Package hold computes when each session of a history held its lock. All checkers and the drawing of a finding use it.
//
// It answers two different questions. The first one is how long the client could believe in its hold: the claim, the belief
// and the work of the session (claim.go, reach.go):
//
//	         grant           lease end          last sign      release call
//	           │                 │                  │               │
//	claim      ├─────────────────┼──────────────────┼───────────────┤   the client counts on it
//	belief     ├─────────────────┤                  │                   ... and its lease runs
//	work       ├─────────────────┴──────────────────┤                   ... and the client used it
//
// The second question is how long the lock service kept the hold: the positions at which the session may have ended and must
// have ended (ends.go).
//
// All results are half-open intervals of positions in the history. So there are no ties, and a delay in recording causes no
// overlap. Times matter only for the ends of leases (lease.go).
package hold

import (
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Slack is the time by which a server may end a lease before the client's deadline, because servers round to milliseconds.
const Slack = 5 * time.Millisecond

// Rounding is the time by which a server may keep a grant too long, because some servers round up to seconds.
const Rounding = time.Second + 50*time.Millisecond

// Hold is the result for one session.
type Hold struct {
	Session *history.Session
	Grant   int   // position of the ok of the acquire, or -1 if the client never got it
	Lease   Lease // the granted lease, or the requested one if the outcome of the acquire is unknown

	// The intervals of the client's belief. Only a granted session has them.

	Claim Span
	Asked bool // the claim ends with a call of the client, at Claim.To
	Sign  int  // the last sign inside the claim, or -1
	// A history does not always have the end of a lease, but only two times between which the lease ends. A result is
	// certain if it is true for both times. Otherwise the two times are equal.
	Least, Most Reach

	// The end of the hold on the lock service.
	Ends Ends

	signs []int  // positions of all signs
	moves []move // renewals
	over  int    // the first notice that the session is over, or the end
	asked int    // the first call of a release, or of a renewal that was not answered with ok; or the end
}

// Granted reports whether the client got the answer that it holds.
func (d *Hold) Granted() bool { return d.Grant >= 0 }

// Renewed reports whether the library renews the lease.
func (d *Hold) Renewed() bool { return d.Lease.Kind == Renewed }

// Book has the holds of a history.
type Book struct {
	timeline
	Strict  bool    // a failed release ends nothing
	All     []Hold  // all sessions in the order of their acquires
	Granted []*Hold // in the order of their grants
	Keys    []*Key  // in the order of their first requests

	faults faults
}

// Key has the sessions that requested one key.
type Key struct {
	Name    string
	All     []*Hold // in the order of their acquires
	Granted []*Hold // in the order of their grants
}

// Find returns the holds of a history. If strict is set, a failed release ends nothing. Otherwise it ends the claim, because the
// critical section of its caller is over whatever the server did.
func Find(h *history.History, strict bool) *Book {
	b := &Book{timeline: timeline{History: h, Stepped: h.ClockStep()}, Strict: strict, All: make([]Hold, len(h.Sessions))}
	b.faults = faults{timeline: &b.timeline, stopped: map[stopped][]standstill{}, heldUp: map[int32][]heldUp{}}
	k := knowledge{timeline: &b.timeline, strict: strict}
	for i, s := range h.Sessions {
		d := &b.All[i]
		d.Session, d.Grant, d.Sign = s, -1, -1
		k.read(d)
		if s.Acquire.Outcome == history.Done {
			d.Grant = s.Acquire.Return
			b.Granted = append(b.Granted, d)
		}
		d.Lease = k.lease(s)
		d.moves = k.moves(d)
		if d.Granted() {
			d.Claim, d.Asked = k.claim(d)
			d.Sign = d.lastSign(d.Claim.To)
			if !d.Renewed() {
				k.count(d)
			}
			b.believed(d)
		}
		d.Ends = b.ends(d)
	}
	slices.SortFunc(b.Granted, func(x, y *Hold) int { return x.Grant - y.Grant })
	b.index()
	return b
}

// index groups the holds by key. A hold with several keys is in several groups.
func (b *Book) index() {
	for _, name := range b.History.Keys {
		b.Keys = append(b.Keys, &Key{Name: name})
	}
	for i := range b.All {
		for _, at := range b.All[i].Session.KeyAt {
			b.Keys[at].All = append(b.Keys[at].All, &b.All[i])
		}
	}
	for _, d := range b.Granted {
		for _, at := range d.Session.KeyAt {
			b.Keys[at].Granted = append(b.Keys[at].Granted, d)
		}
	}
}

// Hold returns the hold of a session.
func (b *Book) Hold(s *history.Session) *Hold { return &b.All[s.Place] }

// Conflict reports whether two sessions of one key exclude each other.
func Conflict(a, b *Hold) bool {
	if a.Session.Owner == b.Session.Owner {
		return false // an owner may enter again
	}
	return a.Session.Mode != locks.Shared || b.Session.Mode != locks.Shared
}
