package sweep

import "slices"

// Who comes and goes in the states of a walk.

// begin: an acquire has returned ok.
func (w *walk) begin(c *Checker, k state, e event) {
	if slot, open := w.slot[e.session]; open && k.in.has(slot) {
		w.next = append(w.next, k)
		return
	}
	w.enter(c, k, c.who(e.session), e.pos)
}

// end: a session holds no more.
func (w *walk) end(c *Checker, k state, e event) {
	slot, open := w.slot[e.session]
	switch {
	case !open:
	case k.in.has(slot):
		k.in.drop(slot)
	case !w.tied.has(slot) || k.done.has(slot):
		// It was over before.
	case !w.pass(c, &k, c.who(e.session), e.pos):
		return
	}
	w.next = append(w.next, k)
}

// enter lets somebody in, after any of those who can have come and gone before.
func (w *walk) enter(c *Checker, k state, v who, now uint32) { w.precede(c, k, v, now, 0) }

// precede lets unknown acquires come and go right before somebody who conflicts with them,
// in each way that may matter; from is the first slot that is not decided. Those that have
// certainly held, and must be gone before that one is, must.
func (w *walk) precede(c *Checker, k state, v who, now uint32, from int) {
	if len(w.next) > 4*statesMax {
		return // this will be an overflow
	}
	until := uint32(0)
	if v.session != None {
		until = c.sessions[v.session].end
	}
	for slot := w.tied.next(from); slot >= 0; slot = w.tied.next(slot + 1) {
		u := c.who(w.slots[slot])
		s := &c.sessions[u.session]
		if k.done.has(slot) || s.end > now || u.session == v.session || !conflict(u, v) || !s.released && !w.serves(c, &k, u, v) {
			continue
		}
		n, must := k, s.released && s.last < until
		n.done.add(slot)
		switch came := w.pass(c, &n, u, now); {
		case must && !came:
			return
		case must:
			k = n
		case came:
			w.precede(c, n, v, now, slot+1)
		}
	}
	w.counted(c, k, v, now, 0)
}

// counted is the same for those that are counted; from is the first pool that is not
// decided.
func (w *walk) counted(c *Checker, k state, v who, now uint32, from int) {
	for at := from; at < len(w.pools); at++ {
		p := &w.pools[at]
		if p.ripe <= k.used[at] || !conflict(p.who, v) || !w.serves(c, &k, p.who, v) {
			continue
		}
		n := k
		n.used[at]++
		if w.pass(c, &n, p.who, now) {
			w.counted(c, n, v, now, at+1)
		}
	}
	w.hold(c, k, v, now)
}

// serves tells whether a claim is met by the first and not by the second.
func (w *walk) serves(c *Checker, k *state, u, v who) bool {
	for i := range w.claims {
		g := &w.claims[i]
		if g.refusal && !k.met.has(i) && c.explains(g.session, u) && !c.explains(g.session, v) {
			return true
		}
	}
	return false
}

// pass lets somebody come and go, and tells whether there is room.
func (w *walk) pass(c *Checker, k *state, v who, now uint32) bool {
	if !w.clear(c, k, v, now) {
		return false
	}
	w.meet(c, k, v)
	return true
}

// hold lets somebody in who stays.
func (w *walk) hold(c *Checker, k state, v who, now uint32) {
	if !w.pass(c, &k, v, now) {
		return
	}
	if v.session == None {
		k.idle |= 1 << slices.IndexFunc(w.pools, func(p pool) bool { return p.who == v })
	} else {
		k.in.add(w.place(v.session))
	}
	w.next = append(w.next, k)
}

// clear lets those go who conflict with somebody, and tells whether all of them may be gone.
func (w *walk) clear(c *Checker, k *state, v who, now uint32) bool {
	for slot := k.in.next(0); slot >= 0; slot = k.in.next(slot + 1) {
		u := w.slots[slot]
		if u == v.session || !conflict(c.who(u), v) {
			continue
		}
		if c.sessions[u].end > now {
			return false
		}
		k.in.drop(slot)
	}
	for at := range w.pools {
		if conflict(w.pools[at].who, v) {
			k.idle &^= 1 << at
		}
	}
	return true
}

// who is a session.
func (c *Checker) who(session uint32) who {
	v := who{session, None, c.sessions[session].shared}
	if c.owners != nil && c.families[c.owners[session]] > 1 {
		v.owner = c.owners[session]
	}
	return v
}

// kin tells whether two have one owner.
func kin(a, b who) bool { return a.owner != None && a.owner == b.owner }

// conflict tells whether two may not hold at once.
func conflict(a, b who) bool { return !(a.shared && b.shared) && !kin(a, b) }

// explains tells whether the hold of one is a reason to refuse another. What an owner holds
// itself is none if it may enter again.
func (c *Checker) explains(refused uint32, v who) bool {
	f := c.who(refused)
	return !(f.shared && v.shared) && !(c.reentrant && kin(f, v))
}
