package sweep

import (
	"cmp"
	"math/bits"
	"slices"
)

// This file is the exact engine for a semaphore of which all take equally many permits,
// for refusals that bounds leave open. Who has a permit does not matter then, only how
// many are out: a refusal wants all of them out at one instant. Like that of the mutex
// (frontier.go) it walks over the events and does nothing before some event needs it:
//
//   - Who may go stays until somebody needs the room, and then the one goes who would
//     have had to go first. If another one went, let the two change places.
//   - Of those who wait and will be granted, the one who is granted first is let in
//     first. If another one was, let it come when that one did.
//   - Of ghosts the one that can be gone first is let in first: if another one was, they
//     change places if they meet, and if they do not, each can have the other's hold.
//   - An unsure session comes and goes in an instant at which there is room, without being
//     in anybody's way. That it could have is kept, and whether it did is left open.
//
// Permits are more than a mutex in one thing. To let others in so that all permits are out
// cannot wait until the refusal returns: it can take more of them by then. Of two permits,
// with one ghost and nobody else:
//
//	holds      ├──core──┤ let ├┤
//	ghost         ├─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─
//	refused        ├──────────────────┤
//	all out            ▲ here          ✗ not any more
//
// It can wait until somebody must leave, though, because until then there are only more
// who hold and more who could. So each time that somebody must leave while a refusal is
// under way that is not explained yet, both are tried: to let others in right before, or
// not. What is left to choose is how many of them are ghosts, which are used up, and how
// many will be granted, who cannot go before; and who of the unsure, one by one.
type permits struct {
	frontier // its events, the ghosts that cannot be released yet, how many can, and the guest

	n                   int // so many may hold
	seatings, following []seating
	places              []uint32 // sessions, by slot
	waiting             []uint32 // who will be granted, the one that is first of all first
	wobbly              []uint32 // unsure and special sessions
	passing             seats    // by slot: of these, those whose release was called
	endless             uint32   // ghosts that are never released
	staying             int      // who was granted and is never released
	tried               []event  // refusals that are under way, in the order of their calls
	denials             map[uint32][]event
	marks               map[uint32]int // slots of denials that are under way, by their calls
	work                int
}

// seating is a state that the semaphore may be in.
type seating struct {
	in     seats  // who holds
	done   seats  // who of the wobbly is over
	passed seats  // who of the unsure could have come and gone
	old    seats  // by slot of a denial: its session held when it was called
	idle   uint32 // how many hold who have no slot, and may be gone at any time
	used   uint32 // how many of the ghosts that can be released have had their hold, or have it
	stuck  uint32 // how many of the endless ghosts hold
	full   uint32 // when all permits were out last
}

const (
	seatsMax    = 256
	seatingsMax = 1 << 13
)

// seats are a set of slots.
type seats [seatsMax / 64]uint64

func (s *seats) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *seats) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *seats) drop(i int)     { s[i/64] &^= 1 << (i % 64) }

func (s *seats) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

func (s *seats) join(others *seats) {
	for i, word := range others {
		s[i] |= word
	}
}

func (s *seats) includes(others *seats) bool {
	for i, word := range others {
		if word&^s[i] != 0 {
			return false
		}
	}
	return true
}

// What happens on top of the occasions of readers and writers.
const (
	arriving occasion = iota + asking + 1 // an acquire was called that will be ok
	ending                                // a release was called of which nothing will ever be heard
)

// alike tells how many may hold at once, if all take equally many permits.
func (c *Checker) alike() (n int, ok bool) {
	load := int64(0)
	for i := range c.sessions {
		switch w := c.weights[i]; {
		case c.sessions[i].state == lost:
		case w < 1 || load > 0 && w != load:
			return 0, false
		default:
			load = w
		}
	}
	return int(c.counts.permits / max(load, 1)), load > 0
}

// seated decides the semaphore by its seatings.
func (c *Checker) seated(n int) {
	f := &c.permits
	f.prepare(c, n)
	for _, e := range f.events {
		if !f.take(c, e) {
			return
		}
		if f.work += len(f.seatings); f.overflow || f.work > workMax {
			c.why = tooMany
			return
		}
	}
}

// prepare collects the events.
func (f *permits) prepare(c *Checker, n int) {
	f.begin(c)
	f.n, f.endless, f.staying, f.work = n, 0, 0, 0
	f.seatings = append(f.seatings[:0], seating{})
	f.places, f.waiting, f.wobbly, f.tried = f.places[:0], f.waiting[:0], f.wobbly[:0], f.tried[:0]
	if f.denials == nil {
		f.denials, f.marks = map[uint32][]event{}, map[uint32]int{}
	}
	clear(f.denials)
	clear(f.marks)
	for _, e := range f.events[:len(f.events):len(f.events)] {
		s := &c.sessions[e.session]
		switch e.what {
		case had:
			f.events = append(f.events, event{s.call, e.session, s.call, arriving})
			if s.last == Never && s.end != Never {
				f.events = append(f.events, event{s.end, e.session, s.end, ending})
			}
		case turnedOff:
			f.events = append(f.events, event{e.call, e.session, e.call, trying})
		case denied:
			f.events = append(f.events, event{e.call, e.session, e.call, asking})
			f.denials[e.session] = append(f.denials[e.session], e)
		}
	}
	f.order()
}

// take takes one event, and tells whether to go on.
func (f *permits) take(c *Checker, e event) bool {
	s := &c.sessions[e.session]
	switch e.what {
	case arriving:
		f.open(e.session)
		at, _ := slices.BinarySearchFunc(f.waiting, s.ret, func(w, ret uint32) int { return cmp.Compare(c.sessions[w].ret, ret) })
		f.waiting = slices.Insert(f.waiting, at, e.session)
		return true
	case asked:
		switch {
		case s.released || s.notHeld != Never:
			f.open(e.session)
			f.wobbly = append(f.wobbly, e.session)
		case s.end == Never:
			f.endless++
		default:
			f.open(e.session)
			f.grow(c, e.session)
		}
		return true
	case ripe:
		f.mature(e.session)
		return true
	case trying:
		f.tried = append(f.tried, e)
		return true
	case asking:
		f.mark(e)
		return true
	case ending:
		f.retire(e.session, 0)
		return true
	}
	f.passing = seats{}
	for _, u := range f.wobbly {
		if c.sessions[u].released && c.sessions[u].end < e.pos {
			f.passing.add(f.slot[u])
		}
	}
	f.following = f.following[:0]
	for _, k := range f.seatings {
		f.look(&k, e.pos)
		switch e.what {
		case had:
			f.admit(c, k, e)
		case let:
			f.leave(c, k, e)
		case denied:
			f.deny(c, k, e)
		case turnedOff:
			f.turned(k, e)
		}
		if len(f.following) > 4*seatingsMax {
			if f.following = bestSeatings(f.following); len(f.following) > seatingsMax {
				f.overflow = true
				return true
			}
		}
	}
	if len(f.following) == 0 {
		if e.what != turnedOff {
			// Whoever was let in to explain a refusal is in the way now.
			c.found(RefusedThoughFree, f.guest, None)
			return false
		}
		c.found(RefusedThoughFree, e.session, None)
		f.following = append(f.following, f.seatings...) // as if it had not been
	}
	f.seatings, f.following = f.following, f.seatings[:0]
	f.settle(c, e)
	f.seatings = bestSeatings(f.seatings)
	f.overflow = f.overflow || len(f.seatings) > seatingsMax
	return true
}

// holding is how many hold.
func (f *permits) holding(k *seating) int {
	return k.in.count() + int(k.idle+k.stuck) + f.staying
}

// look keeps what can be seen at an instant: that all permits are out, or that there is
// room for those who only come and go.
func (f *permits) look(k *seating, now uint32) {
	if f.holding(k) >= f.n {
		k.full = now
	} else {
		k.passed.join(&f.passing)
	}
}

// evict takes the permit from who may go, and would have had to go first.
func (f *permits) evict(c *Checker, k *seating, now uint32) bool {
	first, by := -1, uint32(Never)
	for slot, u := range f.places {
		if u == None || !k.in.has(slot) || c.sessions[u].end > now {
			continue
		}
		if d := f.deadline(c, k, slot, now); first < 0 || d < by {
			first, by = slot, d
		}
	}
	switch {
	case first >= 0 && (by < Never || k.idle == 0):
		k.in.drop(first)
		k.done.add(first)
	case k.idle > 0:
		k.idle--
	default:
		return false
	}
	f.look(k, now)
	return true
}

// deadline is when somebody who holds must be gone.
func (f *permits) deadline(c *Checker, k *seating, slot int, now uint32) uint32 {
	u := f.places[slot]
	by := c.sessions[u].last
	for _, d := range f.denials[u] {
		if mark, ok := f.marks[d.call]; d.call > now || d.pos > now && ok && k.old.has(mark) {
			by = min(by, d.pos)
		}
	}
	return by
}

// raise lets so many in that all permits are out, in each way that may matter.
func (f *permits) raise(k seating, now uint32, emit func(seating)) {
	k.full = now
	var choose func(k seating, from, need int)
	choose = func(k seating, from, need int) {
		for i := from; i < len(f.wobbly) && need > 0; i++ {
			slot := f.slot[f.wobbly[i]]
			if !k.in.has(slot) && !k.done.has(slot) {
				n := k
				n.in.add(slot)
				choose(n, i+1, need-1)
			}
		}
		for _, w := range f.waiting {
			if slot := f.slot[w]; need > 0 && !k.in.has(slot) {
				f.haunt(k, need, emit)
				k.in.add(slot)
				need--
			}
		}
		f.haunt(k, need, emit)
	}
	choose(k, 0, f.n-f.holding(&k))
}

// haunt lets in so many ghosts, if there are so many.
func (f *permits) haunt(k seating, need int, emit func(seating)) {
	ready := min(need, int(f.ripe-k.used))
	k.used += uint32(ready)
	k.idle += uint32(ready)
	need -= ready
	for _, u := range f.young {
		if slot := f.slot[u]; need > 0 && !k.in.has(slot) {
			k.in.add(slot)
			need--
		}
	}
	if need <= int(f.endless-k.stuck) {
		k.stuck += uint32(need)
		emit(k)
	}
}
