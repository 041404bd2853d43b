package sweep

import (
	"cmp"
	"slices"
)

// What was answered to those who want a permit: granted, released, not held, refused.

// admit: an acquire has returned ok.
func (f *permits) admit(c *Checker, k seating, e event) {
	slot, open := f.slot[e.session]
	if !open || !k.in.has(slot) {
		if f.holding(&k) >= f.n && !f.evict(c, &k, e.pos) {
			return
		}
		if open {
			k.in.add(slot)
		}
	}
	f.following = append(f.following, k)
}

// leave: a release has returned ok, so its session holds no more.
func (f *permits) leave(c *Checker, k seating, e event) {
	slot, open := f.slot[e.session]
	unsure := c.sessions[e.session].state == unknown
	if !open || !k.in.has(slot) && (!unsure || k.done.has(slot)) {
		f.following = append(f.following, k) // it was over before
		return
	}
	f.before(k, e.pos, func(k seating) {
		switch {
		case k.in.has(slot):
			k.in.drop(slot)
			f.look(&k, e.pos)
		case k.passed.has(slot) || f.holding(&k) < f.n:
			// It came and went.
		case !f.evict(c, &k, e.pos):
			return
		}
		f.following = append(f.following, k)
	})
}

// before is what can be right before somebody must leave: if a refusal still wants all
// permits out, that they are.
func (f *permits) before(k seating, now uint32, then func(seating)) {
	if n := len(f.tried); n > 0 && f.tried[n-1].call >= k.full {
		f.guest = f.tried[n-1].session
		f.raise(k, now, then)
	}
	then(k)
}

// mark keeps who holds when a release is called that will be told that it does not.
// Each such release has a slot of its own, since several may be under way.
func (f *permits) mark(e event) {
	slot, ok := f.slot[e.session]
	if !ok {
		return
	}
	mark := f.place(anybody)
	if f.overflow {
		return
	}
	f.marks[e.pos] = mark
	for i := range f.seatings {
		if k := &f.seatings[i]; k.in.has(slot) {
			k.old.add(mark)
		}
	}
}

// deny: a session was told that it does not hold. It may have come later, though, or
// gone by then.
func (f *permits) deny(c *Checker, k seating, e event) {
	slot, open := f.slot[e.session]
	mark, marked := f.marks[e.call]
	if !open || !marked || !k.in.has(slot) || !k.old.has(mark) {
		f.following = append(f.following, k)
		return
	}
	if c.sessions[e.session].end > e.pos {
		return
	}
	f.before(k, e.pos, func(k seating) {
		k.in.drop(slot)
		k.done.add(slot)
		f.look(&k, e.pos)
		f.following = append(f.following, k)
	})
}

// turned: an acquire was refused, so all permits must have been out.
func (f *permits) turned(k seating, e event) {
	if k.full > e.call {
		f.following = append(f.following, k)
		return
	}
	f.guest = e.session
	f.raise(k, e.pos, func(k seating) { f.following = append(f.following, k) })
}

// settle moves what all seatings share past an event.
func (f *permits) settle(c *Checker, e event) {
	s := &c.sessions[e.session]
	switch e.what {
	case had:
		f.waiting = without(f.waiting, e.session)
		if s.end == Never {
			f.staying++
			f.vacate(e.session)
		}
	case turnedOff:
		f.tried = slices.DeleteFunc(f.tried, func(t event) bool { return t.session == e.session })
	case let:
		f.wobbly = without(f.wobbly, e.session)
		f.vacate(e.session)
	case denied:
		f.forgive(c, e)
	}
}

func without(all []uint32, session uint32) []uint32 {
	return slices.DeleteFunc(all, func(u uint32) bool { return u == session })
}

// open gives a session a slot.
func (f *permits) open(session uint32) {
	f.slot[session] = f.place(session)
}

// place finds a slot that is free.
func (f *permits) place(whose uint32) int {
	i := slices.Index(f.places, None)
	if i < 0 {
		i = len(f.places)
		if i == seatsMax {
			f.overflow = true
			return 0
		}
		f.places = append(f.places, None)
	}
	f.places[i] = whose
	return i
}

// vacate takes the slot from a session that needs it no more.
func (f *permits) vacate(session uint32) {
	slot, ok := f.slot[session]
	if !ok {
		return
	}
	f.places[slot] = None
	delete(f.slot, session)
	for i := range f.seatings {
		k := &f.seatings[i]
		k.in.drop(slot)
		k.done.drop(slot)
		k.passed.drop(slot)
	}
}

// retire takes the slot from a session that may be gone at any time from now on, and
// counts it as used if it is a ghost.
func (f *permits) retire(session, ghost uint32) {
	slot, ok := f.slot[session]
	if !ok {
		return
	}
	for i := range f.seatings {
		switch k := &f.seatings[i]; {
		case k.in.has(slot):
			k.idle++
			k.used += ghost
		case k.done.has(slot):
			k.used += ghost
		}
	}
	f.vacate(session)
}

// mature counts a ghost from now on.
func (f *permits) mature(session uint32) {
	f.ripe++
	f.young = without(f.young, session)
	f.retire(session, 1)
}

// forgive makes a ghost that was told that it does not hold like any other, once it is
// told no more.
func (f *permits) forgive(c *Checker, e event) {
	if mark, ok := f.marks[e.call]; ok {
		delete(f.marks, e.call)
		f.places[mark] = None
		for i := range f.seatings {
			f.seatings[i].old.drop(mark)
		}
	}
	slot, open := f.slot[e.session]
	s := &c.sessions[e.session]
	if !open || s.released || e.pos < s.notHeldLast {
		return
	}
	f.wobbly = without(f.wobbly, e.session)
	switch {
	case s.end <= e.pos:
		f.mature(e.session)
	case s.end == Never:
		f.endless++
		for i := range f.seatings {
			if k := &f.seatings[i]; k.in.has(slot) {
				k.stuck++
			}
		}
		f.vacate(e.session)
	default:
		f.grow(c, e.session)
	}
}

// bestSeatings keeps those that none of the others is as good as.
func bestSeatings(all []seating) []seating {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b seating) int {
		return cmp.Or(slices.Compare(a.in[:], b.in[:]), slices.Compare(a.done[:], b.done[:]), slices.Compare(a.old[:], b.old[:]),
			cmp.Compare(a.used, b.used), cmp.Compare(a.stuck, b.stuck), cmp.Compare(b.idle, a.idle), cmp.Compare(b.full, a.full),
			cmp.Compare(b.passed.count(), a.passed.count()))
	})
	kept, group := all[:0], 0
	for _, k := range all {
		if n := len(kept); n > 0 && !kept[n-1].like(&k) {
			group = n
		}
		// Looking at a few is enough for that there are not many.
		if !slices.ContainsFunc(kept[max(group, len(kept)-64):], func(x seating) bool { return x.noWorse(&k) }) {
			kept = append(kept, k)
		}
	}
	return kept
}

// like tells whether two seatings can be compared.
func (k *seating) like(x *seating) bool { return k.in == x.in && k.done == x.done && k.old == x.old }

// noWorse tells whether whatever can follow on one can follow on the other. Who has not
// used a ghost yet can let it in now.
func (k *seating) noWorse(than *seating) bool {
	return k.used <= than.used && k.stuck <= than.stuck && k.full >= than.full &&
		than.idle <= k.idle+than.used-k.used && k.passed.includes(&than.passed)
}
