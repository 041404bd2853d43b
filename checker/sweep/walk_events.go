package sweep

import (
	"cmp"
	"slices"
)

// event is what happens at a position.
type event struct {
	pos     uint32
	session uint32
	call    uint32 // of the claim that is answered
	what    occasion
}

type occasion uint8

const (
	called  occasion = iota // an acquire that was granted, or is unknown
	began                   // an acquire returned ok
	mayEnd                  // from here on a session may be gone, and nothing will say when
	ended                   // a session is gone
	claimed                 // an acquire was called that will be refused
	doubted                 // a release was called that will be told "not held"
	refusal                 // an acquire was refused
	denial                  // a release was told "not held"
)

// prepare collects the events.
func (w *walk) prepare(c *Checker) {
	w.events, w.slots, w.claims, w.waiting = w.events[:0], w.slots[:0], w.claims[:0], w.waiting[:0]
	w.states = append(w.states[:0], state{})
	w.tied, w.certain, w.begun, w.blamed = set{}, set{}, 0, None
	w.work, w.overflow, w.partial = 0, false, false
	w.pools = w.pools[:0]
	if w.slot == nil {
		w.slot = map[uint32]int{}
	}
	clear(w.slot)
	for i := range c.sessions {
		s := &c.sessions[i]
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
			// While it is still told "not held", it is looked at by itself.
			if s.notHeld == Never || s.end > s.notHeldLast {
				w.add(s.end, id, mayEnd)
			}
		}
	}
	for _, i := range c.open {
		s := &c.sessions[i]
		w.add(s.call, i, claimed)
		w.events = append(w.events, event{s.ret, i, s.call, refusal})
	}
	w.denials(c)
	slices.SortFunc(w.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.what, b.what)) })
	w.horizons(c)
}

func (w *walk) add(pos, session uint32, what occasion) {
	if pos != Never {
		w.events = append(w.events, event{pos, session, pos, what})
	}
}

// denials adds what sessions of unknown acquire were told when they were released. Those
// that were granted have it in where their hold must have ended.
func (w *walk) denials(c *Checker) {
	if !c.special {
		return
	}
	o := c.ops
	for i, k := range o.Kind {
		if k != Release || o.Out[i] != Fail && o.Out[i] != StrictFail {
			continue
		}
		if id := o.Session[i]; c.sessions[id].state == unknown {
			w.add(o.Call[i], id, doubted)
			w.events = append(w.events, event{o.Ret[i], id, o.Call[i], denial})
		}
	}
}

// horizons finds, for each core, the first one after it before which two owners must have
// written: whoever is granted the lock later cannot have come before the one in between.
func (w *walk) horizons(c *Checker) {
	w.horizon = slices.Grow(w.horizon[:0], len(c.cores)+1)[:len(c.cores)+1]
	first, second := uint64(nothing), uint64(nothing) // cores of writers, of two owners
	w.horizon[len(c.cores)] = nothing
	for i := len(c.cores) - 1; i >= 0; i-- {
		packed := c.cores[i]
		if id := uint32(packed); !c.sessions[id].shared {
			if first != nothing && !kin(c.who(uint32(first)), c.who(id)) {
				second = first
			}
			first = packed
		}
		w.horizon[i] = second
	}
}
