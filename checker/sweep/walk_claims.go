package sweep

import "slices"

// This file has what answers claim of the lock, in the states of a walk.

// claim begins a claim. Some states meet it at once.
func (w *walk) claim(e event) {
	at := slices.IndexFunc(w.claims, func(g claim) bool { return g.call == None })
	if at < 0 {
		if at = len(w.claims); at == setSize {
			w.overflow = true
			return
		}
		w.claims = append(w.claims, claim{})
	}
	w.claims[at] = claim{e.pos, e.session, e.what == claimed}
	slot, open := w.slot[e.session]
	for i := range w.states {
		k := &w.states[i]
		if e.what == claimed && w.explained(k, e.session) || e.what == doubted && !(open && k.in.has(slot)) {
			k.met.add(at)
		}
	}
}

// explained reports whether a session holds that explains a refusal.
func (w *walk) explained(k *state, session uint32) bool {
	for at := range w.pools {
		if k.idle&(1<<at) != 0 && w.explains(session, w.pools[at].who) {
			return true
		}
	}
	for slot := k.in.next(0); slot >= 0; slot = k.in.next(slot + 1) {
		if w.explains(session, w.who(w.slots[slot])) {
			return true
		}
	}
	return false
}

// meet marks the refusals that v explains, which holds now.
func (w *walk) meet(k *state, v who) {
	for i := range w.claims {
		if g := &w.claims[i]; g.call != None && g.refusal && !k.met.has(i) && w.explains(g.session, v) {
			k.met.add(i)
		}
	}
}

// at returns the place of a claim.
func (w *walk) at(e event) int {
	return slices.IndexFunc(w.claims, func(g claim) bool { return g.call == e.call })
}

// unclaim ends a claim.
func (w *walk) unclaim(e event) {
	at := w.at(e)
	w.claims[at] = claim{None, None, false}
	for i := range w.states {
		w.states[i].met.drop(at)
	}
	for n := len(w.claims); n > 0 && w.claims[n-1].call == None; n-- {
		w.claims = w.claims[:n-1]
	}
}

// deny: a release returned "not held". Its session may have come after the call; if it held
// all the time, it must go.
func (w *walk) deny(k state, e event) {
	if slot, open := w.slot[e.session]; open && k.in.has(slot) && !k.met.has(w.at(e)) {
		if w.sessions[e.session].end > e.pos {
			return
		}
		k.in.drop(slot)
	}
	w.next = append(w.next, k)
}

// explain: an acquire was refused, so a session in its way must have held.
func (w *walk) explain(k state, e event) {
	if k.met.has(w.at(e)) {
		w.next = append(w.next, k)
		return
	}
	w.blamed = e.session
	for _, v := range w.candidates(e) {
		w.enter(k, v, e.pos)
	}
	for slot := w.tied.next(0); slot >= 0; slot = w.tied.next(slot + 1) {
		if u := w.who(w.slots[slot]); !k.done.has(slot) && w.explains(e.session, u) {
			n := k
			n.done.add(slot)
			w.enter(n, u, e.pos)
		}
	}
	for at := range w.pools {
		p, n := &w.pools[at], k
		n.used[at]++
		switch {
		case !w.explains(e.session, p.who):
		case p.ripe > k.used[at]:
			w.enter(n, p.who, e.pos)
		case len(p.young) > 0:
			w.enter(n, w.who(p.young[0]), e.pos)
		}
	}
}

// candidates are the sessions that may have come before their acquires returned: of each
// owner and mode the one whose core begins first.
func (w *walk) candidates(e event) []who {
	if w.sought {
		return w.early
	}
	w.early, w.sought = w.early[:0], true
	for _, core := range w.waiting {
		if w.sessions[core].ret >= w.horizon[w.begun] {
			break
		}
		v := w.who(core)
		if w.explains(e.session, v) && !slices.ContainsFunc(w.early, func(x who) bool {
			return x.shared == v.shared && x.owner == v.owner
		}) {
			w.early = append(w.early, v)
		}
	}
	return w.early
}
