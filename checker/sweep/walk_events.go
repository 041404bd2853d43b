package sweep

import (
	"cmp"
	"slices"
)

// event is a step of the search at a position.
type event struct {
	pos     uint32
	session uint32
	call    uint32 // of the answered claim
	what    occasion
}

type occasion uint8

const (
	called  occasion = iota // an acquire that was granted, or is unknown
	began                   // an acquire returned ok
	mayEnd                  // from here on a hold may be over, and no event shows its end
	ended                   // a hold is over
	claimed                 // an acquire was called that will be refused
	doubted                 // a release was called that will return "not held"
	refusal                 // an acquire was refused
	denied                  // a release returned "not held"
)

// newWalk collects the events of a lock.
func newWalk(l *lock) *walk {
	w := &walk{lock: l, states: []state{{}}, blamed: None}
	for i := range w.sessions {
		s := &w.sessions[i]
		id := uint32(i)
		switch {
		case s.state == granted:
			w.add(s.call, id, called)
			w.add(s.ret, id, began)
			if s.last != Never {
				w.add(s.last, id, ended)
			} else {
				w.add(s.end, id, mayEnd)
			}
		case s.state != unknown:
		case s.released:
			w.add(s.call, id, called)
			w.add(s.last, id, ended)
		default:
			w.add(s.call, id, called)
			// A session with an open "not held" answer is not counted in a pool.
			if s.notHeld == Never || s.end > s.notHeldLast {
				w.add(s.end, id, mayEnd)
			}
		}
	}
	for _, i := range w.open {
		s := &w.sessions[i]
		w.add(s.call, i, claimed)
		w.events = append(w.events, event{s.ret, i, s.call, refusal})
	}
	for _, d := range w.denials {
		// For a granted session, the last possible end of the hold has this information already.
		if w.sessions[d.session].state == unknown {
			w.add(d.call, d.session, doubted)
			w.events = append(w.events, event{d.ret, d.session, d.call, denied})
		}
	}
	slices.SortFunc(w.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.what, b.what)) })
	return w
}

func (w *walk) add(pos, session uint32, what occasion) {
	if pos != Never {
		w.events = append(w.events, event{pos, session, pos, what})
	}
}
