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

	// What its client could believe; of a granted session alone.

	Claim Span
	Asked bool // the claim ends with a call of the client's own, which stands at Claim.To
	Sign  int  // the last sign inside the claim, or -1
	// Where a lease ends is not always told; then it ends between two times, and what is
	// so for both is certain. Elsewhere the two are the same.
	Least, Most Reach
	Doubtful    bool // they are not

	// Where it ended, as its lock service may know it.
	Ends Ends

	signs []int  // positions of all signs
	moves []move // renewals
	over  int    // the first notice that the session is over, or the end
	asked int    // the first call of a release, or of a renewal that was not answered with ok; or the end
}

// Granted tells whether the client was told that it holds.
func (d *Hold) Granted() bool { return d.Grant >= 0 }

// Renewed tells whether the library keeps the lease alive.
func (d *Hold) Renewed() bool { return d.Lease.Kind == Renewed }

// Book has the holds of a history.
type Book struct {
	h       *history.History
	strict  bool
	stepped int // position from which times are not to be trusted
	holds   []Hold
	byGrant []*Hold
	keys    []*Key
	pauses  map[paused][]standstill
	faults  map[paused][]standstill
	heldUp  map[int32][]heldUp
}

// Key is what was asked of one key.
type Key struct {
	Name    string
	All     []*Hold // in the order of their acquires
	Granted []*Hold // in the order of their grants
}

// Of finds the holds of a history. In the strict reading a release that failed ends
// nothing; else it ends the claim, for its caller's critical section is over whatever
// the answer says about the server.
func Of(h *history.History, strict bool) *Book {
	b := &Book{
		h: h, strict: strict, stepped: h.ClockStep(),
		holds:  make([]Hold, len(h.Sessions)),
		pauses: map[paused][]standstill{}, faults: map[paused][]standstill{},
		heldUp: map[int32][]heldUp{},
	}
	for i, s := range h.Sessions {
		d := &b.holds[i]
		d.Session, d.Grant, d.Sign = s, -1, -1
		b.read(d)
		if s.Acquire.Outcome == history.Done {
			d.Grant = s.Acquire.Return
			b.byGrant = append(b.byGrant, d)
		}
		d.Lease = b.lease(s)
		d.moves = b.moves(d)
		if d.Granted() {
			b.believed(d)
		}
		d.Ends = b.ends(d)
	}
	slices.SortFunc(b.byGrant, func(x, y *Hold) int { return x.Grant - y.Grant })
	b.index()
	return b
}

// index sorts the holds by key. One that has several keys stands under each. There may be
// very many keys, so the lists of all of them are cut from one.
func (b *Book) index() {
	type counts struct{ all, granted int }
	count, sum := make([]counts, len(b.h.Keys)), 0
	for i := range b.holds {
		d := &b.holds[i]
		for _, at := range d.Session.KeyAt {
			count[at].all++
			if d.Granted() {
				count[at].granted++
			}
		}
	}
	for _, n := range count {
		sum += n.all + n.granted
	}
	list, keys := make([]*Hold, sum), make([]Key, len(b.h.Keys))
	b.keys = make([]*Key, len(keys))
	for at, n := range count {
		k := &keys[at]
		k.Name, b.keys[at] = b.h.Keys[at], k
		k.All, list = list[:0:n.all], list[n.all:]
		k.Granted, list = list[:0:n.granted], list[n.granted:]
	}
	for i := range b.holds {
		for _, at := range b.holds[i].Session.KeyAt {
			keys[at].All = append(keys[at].All, &b.holds[i])
		}
	}
	for _, d := range b.byGrant {
		for _, at := range d.Session.KeyAt {
			keys[at].Granted = append(keys[at].Granted, d)
		}
	}
}

// History is what the book is about.
func (b *Book) History() *history.History { return b.h }

// Strict tells how releases that failed are read.
func (b *Book) Strict() bool { return b.strict }

// Stepped is the position from which times are not to be trusted, because the machine's
// clocks moved against each other; past the end if they did not.
func (b *Book) Stepped() int { return b.stepped }

// Hold is that of a session.
func (b *Book) Hold(s *history.Session) *Hold { return &b.holds[s.Place] }

// All are the holds of all sessions, in the order of their acquires.
func (b *Book) All() []Hold { return b.holds }

// Granted are the holds that were granted, in the order of their grants.
func (b *Book) Granted() []*Hold { return b.byGrant }

// Keys are in the order in which they were first asked for.
func (b *Book) Keys() []*Key { return b.keys }

// Conflict tells whether two sessions of one key exclude each other.
func Conflict(a, b *Hold) bool {
	if a.Session.Owner == b.Session.Owner {
		return false // who holds may enter again
	}
	return a.Session.Mode != locks.Shared || b.Session.Mode != locks.Shared
}

// After is the position of the first event later than a time.
func (b *Book) After(at time.Duration) int {
	events := b.h.Events
	return sort.Search(len(events), func(i int) bool { return events[i].Time > at })
}

// end is the position behind the last event.
func (b *Book) end() int { return len(b.h.Events) }

// time of a position; of the end, that of the last event.
func (b *Book) time(pos int) time.Duration {
	if pos >= len(b.h.Events) {
		pos = len(b.h.Events) - 1
	}
	return b.h.Events[pos].Time
}
