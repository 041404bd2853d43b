package sweep

import (
	"cmp"
	"slices"
)

// Sessions have slots while some state may need to know of them by themselves: while they
// hold, and if their acquire is unknown from its call until they are certainly over.
// Unknown acquires that nothing is ever answered of are counted instead, in pools.

// call takes the call of an acquire.
func (w *walk) call(e event) {
	s := &w.sessions[e.session]
	switch {
	case s.state == granted:
		at, _ := slices.BinarySearchFunc(w.waiting, s.ret, func(core, ret uint32) int { return cmp.Compare(w.sessions[core].ret, ret) })
		w.waiting = slices.Insert(w.waiting, at, e.session)
	case !s.released && s.notHeld == Never:
		w.grow(e.session)
	default:
		slot := w.place(e.session)
		w.tied.add(slot)
		if s.released {
			w.certain.add(slot)
		}
	}
}

// pool finds the pool of a session, or makes it. There may be no room for one more.
func (w *walk) pool(session uint32) (at int, ok bool) {
	v := w.who(session)
	v.session = None
	at = slices.IndexFunc(w.pools, func(p pool) bool { return p.who == v })
	if at >= 0 {
		return at, true
	}
	if len(w.pools) == poolsMax {
		return 0, false
	}
	w.pools = append(w.pools, pool{who: v})
	return len(w.pools) - 1, true
}

// grow adds an unknown acquire that cannot be gone yet.
func (w *walk) grow(session uint32) {
	at, ok := w.pool(session)
	if !ok {
		// It need not have happened. Without it what is found may be wrong, but what is
		// explained is explained.
		w.partial = true
		return
	}
	young := &w.pools[at].young
	place, _ := slices.BinarySearchFunc(*young, w.sessions[session].end, func(y, end uint32) int { return cmp.Compare(w.sessions[y].end, end) })
	*young = slices.Insert(*young, place, session)
}

// ripen: a session may be gone from now on, and no event says when. From here on the sessions
// of one owner and mode are alike.
func (w *walk) ripen(session uint32) {
	at, ok := w.pool(session)
	if !ok {
		return // a holder keeps its slot
	}
	if w.sessions[session].state == unknown {
		p := &w.pools[at]
		p.ripe++
		p.young = slices.DeleteFunc(p.young, func(y uint32) bool { return y == session })
	}
	slot, open := w.slot[session]
	if !open {
		return
	}
	for i := range w.states {
		if k := &w.states[i]; k.in.has(slot) {
			k.in.drop(slot)
			k.idle |= 1 << at
		}
	}
	w.free(slot)
}

// place finds the slot of a session, or gives it one.
func (w *walk) place(session uint32) int {
	if slot, ok := w.slot[session]; ok {
		return slot
	}
	slot := slices.Index(w.slots, None)
	if slot < 0 {
		if slot = len(w.slots); slot == setSize {
			w.overflow = true
			return 0
		}
		w.slots = append(w.slots, None)
	}
	w.slots[slot], w.slot[session] = session, slot
	return slot
}

// free takes the slot from a session that no state needs.
func (w *walk) free(slot int) {
	delete(w.slot, w.slots[slot])
	w.slots[slot] = None
	w.tied.drop(slot)
	w.certain.drop(slot)
}

// tidy frees the slots of sessions that hold in no state and are not tied to their slots.
func (w *walk) tidy() {
	held := w.tied
	for i := range w.states {
		held.join(&w.states[i].in)
	}
	for slot, session := range w.slots {
		if session != None && !held.has(slot) {
			w.free(slot)
		}
	}
}

// untie frees a slot of an unknown acquire that is over.
func (w *walk) untie(slot int) {
	for i := range w.states {
		w.states[i].done.drop(slot)
	}
	w.free(slot)
}

// repool returns an unknown acquire to those that are counted, after its last "not held".
func (w *walk) repool(e event, slot int) {
	at, ok := w.pool(e.session)
	if !ok {
		return // it keeps its slot
	}
	for i := range w.states {
		if k := &w.states[i]; k.done.has(slot) {
			k.used[at]++
			k.done.drop(slot)
		}
	}
	w.tied.drop(slot)
	w.grow(e.session)
	if w.sessions[e.session].end <= e.pos {
		w.ripen(e.session)
	}
}
