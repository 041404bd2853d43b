package sweep

import "slices"

// This file begins and ends holds in the states of a walk.

// begin handles an acquire that returned ok.
func (w *walk) begin(k state, e event) {
	if k.in.has(e.session) {
		w.next = append(w.next, k)
		return
	}
	w.enter(k, w.holder(e.session), e.pos)
}

// end handles the last possible end of a hold.
func (w *walk) end(k state, e event) {
	switch {
	case k.in.has(e.session):
		k.in = k.in.without(e.session)
	case !w.tied.has(e.session) || k.done.has(e.session):
		// The hold was already over.
	case !w.pass(&k, w.holder(e.session), e.pos):
		return
	}
	w.next = append(w.next, k)
}

// enter begins the hold of a session, after any unknown acquires that may have come and gone before.
func (w *walk) enter(k state, v holder, now uint32) { w.precede(k, v, now, 0) }

// precede tries unknown acquires that come and go right before a conflicting session, in each combination that may matter. from
// is the index of the first acquire that is not decided. An acquire that certainly held and must end before that session does
// must come and go here.
func (w *walk) precede(k state, v holder, now uint32, from int) {
	if len(w.next) > 4*statesMax {
		return // there are too many states, and step will report that
	}
	until := uint32(0)
	if v.session != None {
		until = w.sessions[v.session].end
	}
	for i := from; i < len(w.tied); i++ {
		u := w.holder(w.tied[i])
		s := &w.sessions[u.session]
		if k.done.has(u.session) || s.end > now || u.session == v.session || !conflict(u, v) || !s.released && !w.serves(&k, u, v) {
			continue
		}
		n, must := k, s.released && s.last < until
		n.done = n.done.with(u.session)
		switch came := w.pass(&n, u, now); {
		case must && !came:
			return
		case must:
			k = n
		case came:
			w.precede(n, v, now, i+1)
		}
	}
	w.counted(k, v, now, 0)
}

// counted does the same for the unknown acquires in pools. from is the first pool that is not decided.
func (w *walk) counted(k state, v holder, now uint32, from int) {
	for at := from; at < len(w.pools); at++ {
		p := &w.pools[at]
		if p.ripe <= k.used[at] || !conflict(p.holder, v) || !w.serves(&k, p.holder, v) {
			continue
		}
		n := k
		n.used[at]++
		if w.pass(&n, p.holder, now) {
			w.counted(n, v, now, at+1)
		}
	}
	w.hold(k, v, now)
}

// serves reports whether u explains a refusal that v does not explain.
func (w *walk) serves(k *state, u, v holder) bool {
	for i := range w.claims {
		g := &w.claims[i]
		if g.refusal && !k.met.has(g.call) && w.explains(g.session, u) && !w.explains(g.session, v) {
			return true
		}
	}
	return false
}

// pass lets a session come and go, and reports whether no conflicting session must hold.
func (w *walk) pass(k *state, v holder, now uint32) bool {
	if !w.clear(k, v, now) {
		return false
	}
	w.meet(k, v)
	return true
}

// hold begins the hold of a session.
func (w *walk) hold(k state, v holder, now uint32) {
	if !w.pass(&k, v, now) {
		return
	}
	if v.session == None {
		k.idle |= 1 << slices.IndexFunc(w.pools, func(p pool) bool { return p.holder == v })
	} else {
		k.in = k.in.with(v.session)
	}
	w.next = append(w.next, k)
}

// clear ends the holds that conflict with v, and reports whether all of them may have ended.
func (w *walk) clear(k *state, v holder, now uint32) bool {
	inTheWay := func(u uint32) bool { return u != v.session && conflict(w.holder(u), v) }
	if slices.ContainsFunc(k.in, inTheWay) {
		if slices.ContainsFunc(k.in, func(u uint32) bool { return inTheWay(u) && w.sessions[u].end > now }) {
			return false
		}
		k.in = k.in.filter(func(u uint32) bool { return !inTheWay(u) })
	}
	for at := range w.pools {
		if conflict(w.pools[at].holder, v) {
			k.idle &^= 1 << at
		}
	}
	return true
}

// holder returns the description of a session.
func (l *lock) holder(session uint32) holder {
	s := &l.sessions[session]
	if s.kin {
		return holder{session, s.owner, s.shared}
	}
	return holder{session, None, s.shared}
}

// kin reports whether two sessions have one owner.
func kin(a, b holder) bool { return a.owner != None && a.owner == b.owner }

// conflict reports whether two sessions may not hold at once.
func conflict(a, b holder) bool { return !(a.shared && b.shared) && !kin(a, b) }

// explains reports whether a hold of v is a reason to refuse a session. In a reentrant lock,
// the holds of its own owner are not.
func (l *lock) explains(refused uint32, v holder) bool {
	f := l.holder(refused)
	return !(f.shared && v.shared) && !(l.reentrant && kin(f, v))
}
