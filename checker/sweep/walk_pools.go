package sweep

import (
	"cmp"
	"slices"
)

// An unknown acquire is tied as long as a release of its session may still be answered. The others are equivalent if they have the
// same owner and mode, so pools only count them.

// call handles the call of an acquire.
func (w *walk) call(e event) {
	s := &w.sessions[e.session]
	switch {
	case s.state == granted:
		at, _ := slices.BinarySearchFunc(w.waiting, s.ret, func(core, ret uint32) int { return cmp.Compare(w.sessions[core].ret, ret) })
		w.waiting = slices.Insert(w.waiting, at, e.session)
	case !s.released && s.notHeld == Never:
		w.grow(e.session)
	default:
		w.tied = w.tied.with(e.session)
	}
}

// pool finds or makes the pool of a session. It fails if there are too many pools.
func (w *walk) pool(session uint32) (at int, ok bool) {
	v := w.holder(session)
	v.session = None
	at = slices.IndexFunc(w.pools, func(p pool) bool { return p.holder == v })
	if at >= 0 {
		return at, true
	}
	if len(w.pools) == poolsMax {
		return 0, false
	}
	w.pools = append(w.pools, pool{holder: v})
	return len(w.pools) - 1, true
}

// grow adds an unknown acquire whose hold cannot have ended yet.
func (w *walk) grow(session uint32) {
	at, ok := w.pool(session)
	if !ok {
		// The acquire may never have taken effect, so an explanation without it is right. A finding may be wrong.
		w.partial = true
		return
	}
	young := &w.pools[at].young
	place, _ := slices.BinarySearchFunc(*young, w.sessions[session].end, func(y, end uint32) int { return cmp.Compare(w.sessions[y].end, end) })
	*young = slices.Insert(*young, place, session)
}

// ripen marks the hold of a session as possibly over: no event shows when it ends. From here on, all such sessions with
// the same owner and mode are equivalent.
func (w *walk) ripen(session uint32) {
	at, ok := w.pool(session)
	if !ok {
		return // the session is treated as one that holds on
	}
	if w.sessions[session].state == unknown {
		p := &w.pools[at]
		p.ripe++
		p.young = slices.DeleteFunc(p.young, func(y uint32) bool { return y == session })
	}
	for i := range w.states {
		if k := &w.states[i]; k.in.has(session) {
			k.in = k.in.without(session)
			k.idle |= 1 << at
		}
	}
}

// repool counts an unknown acquire in a pool again, after its last "not held".
func (w *walk) repool(e event) {
	at, ok := w.pool(e.session)
	if !ok {
		return // it stays tied
	}
	for i := range w.states {
		if k := &w.states[i]; k.done.has(e.session) {
			k.used[at]++
			k.done = k.done.without(e.session)
		}
	}
	w.tied = w.tied.without(e.session)
	w.grow(e.session)
	if w.sessions[e.session].end <= e.pos {
		w.ripen(e.session)
	}
}
