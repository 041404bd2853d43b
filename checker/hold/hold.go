// Package hold says from when until when each session of a history held its lock. It
// is the only place that judges it: all checkers and the drawing of a finding ask it.
//
// There are two questions, and they have different answers. What could the client
// believe? That is its claim, its belief and its work (claim.go, reach.go):
//
//	         grant           lease end          last sign      release call
//	           │                 │                  │               │
//	claim      ├─────────────────┼──────────────────┼───────────────┤   its client counts on it
//	belief     ├─────────────────┤                  │                   ... and so does the lock
//	work       ├─────────────────┴──────────────────┤                   ... and it mattered
//
// And what may the lock service have known? That is where the session may have ended,
// and where it must have (ends.go).
//
// All of these are made of positions in the history, half open, so there are no ties
// and a slow pipe makes no overlap. Time comes in through the ends of leases alone
// (lease.go).
package hold

import (
	"slices"
	"sort"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Slack is how much earlier than its client's deadline a server may end a lease without
// having lost it: servers count whole milliseconds.
const Slack = 5 * time.Millisecond

// Rounding is how much longer than asked a server may keep a grant: some count in seconds
// and round up.
const Rounding = time.Second + 50*time.Millisecond

// Hold is what is known of one session.
type Hold struct {
	Session *history.Session
	Grant   int   // position of the acquire's ok, or -1: no client knows that it is held
	Lease   Lease // as it was granted; of an acquire of unknown outcome, as it was asked for

	// The intervals that its client could believe in. Only a granted session has them.

	Claim Span
	Asked bool // the claim ends with a call of the client's own, which stands at Claim.To
	Sign  int  // the last sign inside the claim, or -1
	// A history does not always say where a lease ends. Then it ends between two times, and
	// whatever holds for both is certain. Otherwise the two are the same.
	Least, Most Reach

	// Where it ended, as its lock service may know it.
	Ends Ends

	signs []int  // positions of all signs
	moves []move // renewals
	over  int    // the first notice that the session is over, or the end
	asked int    // the first call of a release, or of a renewal that was not answered with ok; or the end
}

// Granted tells whether the client had the answer that it holds.
func (d *Hold) Granted() bool { return d.Grant >= 0 }

// Renewed tells whether the library keeps the lease alive.
func (d *Hold) Renewed() bool { return d.Lease.Kind == Renewed }

// Book has the holds of a history.
type Book struct {
	History *history.History
	Strict  bool    // a release that failed ends nothing
	Stepped int     // position from which times are not to be trusted, because the machine's clocks moved against each other; past the end if they did not
	All     []Hold  // of all sessions, in the order of their acquires
	Granted []*Hold // in the order of their grants
	Keys    []*Key  // in the order in which they were first asked for

	stopped map[stopped][]standstill
	heldUp  map[int32][]heldUp
}

// Key has the sessions that asked for one key.
type Key struct {
	Name    string
	All     []*Hold // in the order of their acquires
	Granted []*Hold // in the order of their grants
}

// Find returns the holds of a history. If strict is set, a failed release ends nothing. Otherwise
// it ends the claim, because the critical section of its caller is over, whatever the answer says
// about the server.
func Find(h *history.History, strict bool) *Book {
	b := &Book{
		History: h, Strict: strict, Stepped: h.ClockStep(), All: make([]Hold, len(h.Sessions)),
		stopped: map[stopped][]standstill{}, heldUp: map[int32][]heldUp{},
	}
	for i, s := range h.Sessions {
		d := &b.All[i]
		d.Session, d.Grant, d.Sign = s, -1, -1
		b.read(d)
		if s.Acquire.Outcome == history.Done {
			d.Grant = s.Acquire.Return
			b.Granted = append(b.Granted, d)
		}
		d.Lease = b.lease(s)
		d.moves = b.moves(d)
		if d.Granted() {
			b.believed(d)
		}
		d.Ends = b.ends(d)
	}
	slices.SortFunc(b.Granted, func(x, y *Hold) int { return x.Grant - y.Grant })
	b.index()
	return b
}

// index sorts the holds by key. One that has several keys stands under each.
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

// Hold is that of a session.
func (b *Book) Hold(s *history.Session) *Hold { return &b.All[s.Place] }

// Conflict tells whether two sessions of one key exclude each other.
func Conflict(a, b *Hold) bool {
	if a.Session.Owner == b.Session.Owner {
		return false // an owner may enter again
	}
	return a.Session.Mode != locks.Shared || b.Session.Mode != locks.Shared
}

// After is the position of the first event later than a time.
func (b *Book) After(at time.Duration) int {
	events := b.History.Events
	return sort.Search(len(events), func(i int) bool { return events[i].Time > at })
}

// end is the position behind the last event.
func (b *Book) end() int { return len(b.History.Events) }

// time of a position; of the end, that of the last event.
func (b *Book) time(pos int) time.Duration {
	if pos >= len(b.History.Events) {
		pos = len(b.History.Events) - 1
	}
	return b.History.Events[pos].Time
}
