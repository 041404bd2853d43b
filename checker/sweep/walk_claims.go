package sweep

import "slices"

// This file tracks in the states of a walk whether the claims are met.

// claim begins a claim. Some states meet the claim at once.
func (w *walk) claim(e event) {
	w.claims = append(w.claims, claim{e.pos, e.session, e.what == claimed})
	for i := range w.states {
		k := &w.states[i]
		if e.what == claimed && w.explained(k, e.session) || e.what == doubted && !k.in.has(e.session) {
			k.met = k.met.with(e.pos)
		}
	}
}

// explained reports whether a current holder explains a refusal.
func (w *walk) explained(k *state, session uint32) bool {
	for at := range w.pools {
		if k.idle&(1<<at) != 0 && w.explains(session, w.pools[at].holder) {
			return true
		}
	}
	return slices.ContainsFunc(k.in, func(u uint32) bool { return w.explains(session, w.holder(u)) })
}

// meet marks the refusals that are explained by v, which holds now.
func (w *walk) meet(k *state, v holder) {
	for _, g := range w.claims {
		if g.refusal && w.explains(g.session, v) {
			k.met = k.met.with(g.call)
		}
	}
}

// unclaim ends a claim.
func (w *walk) unclaim(e event) {
	w.claims = slices.DeleteFunc(w.claims, func(g claim) bool { return g.call == e.call })
	for i := range w.states {
		w.states[i].met = w.states[i].met.without(e.call)
	}
}

// deny handles a release that returned "not held". If its session has held since before the call, its hold must end here.
func (w *walk) deny(k state, e event) {
	if k.in.has(e.session) && !k.met.has(e.call) {
		if w.sessions[e.session].end > e.pos {
			return
		}
		k.in = k.in.without(e.session)
	}
	w.next = append(w.next, k)
}

// explain handles a refused acquire: a conflicting session must have held.
func (w *walk) explain(k state, e event) {
	if k.met.has(e.call) {
		w.next = append(w.next, k)
		return
	}
	w.blamed = e.session
	for _, v := range w.candidates(e) {
		w.enter(k, v, e.pos)
	}
	for _, session := range w.tied {
		if u := w.holder(session); !k.done.has(session) && w.explains(e.session, u) {
			n := k
			n.done = n.done.with(session)
			w.enter(n, u, e.pos)
		}
	}
	for at := range w.pools {
		p, n := &w.pools[at], k
		n.used[at]++
		switch {
		case !w.explains(e.session, p.holder):
		case p.ripe > k.used[at]:
			w.enter(n, p.holder, e.pos)
		case len(p.young) > 0:
			w.enter(n, w.holder(p.young[0]), e.pos)
		}
	}
}

// candidates returns the sessions that may have come before their acquires returned: for each owner and mode, the session whose
// core begins first.
func (w *walk) candidates(e event) (early []holder) {
	for _, core := range w.waiting {
		v := w.holder(core)
		if w.explains(e.session, v) && !slices.ContainsFunc(early, func(x holder) bool { return x.shared == v.shared && x.owner == v.owner }) {
			early = append(early, v)
		}
	}
	return early
}
