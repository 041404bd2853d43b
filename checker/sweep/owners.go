package sweep

// This file makes the history of a reentrant lock into one of a plain mutex. What an
// owner holds from its first acquire to the release that undoes it is one hold:
//
//	owner   acquire  acquire  release  release      acquire  release
//	depth      1        2        1        0            1        0
//	session    ├────────── 0 ─────────────┤            ├── 1 ───┤
//
// An owner does one thing at a time, and acquires no more once an outcome of its own is
// unknown. So its depth is known until then, and afterwards there are only releases.
//
// An inner acquire of unknown outcome is a session of its own, as if it were anybody's.
// That is right, because to hold on by having entered twice is the same as to hand
// over to oneself. Of the releases that are ok the first ones undo what is known to
// have been acquired; one more is the proof that the unknown one happened.
type owners struct {
	all         []owner
	of          []uint32 // owners, by session
	first, last []int64  // tokens, by session
	doubtful    []uint32
	frees       []free
}

// owner is what is known of one.
type owner struct {
	depth    int32
	session  uint32 // of its latest hold, or None
	guest    uint32 // of its acquire of unknown outcome, or None
	inner    bool   // it held when that one was called
	doubt    bool   // an outcome is unknown
	released uint32 // call of the last release that was ok
	frees    int32  // releases of unknown outcome, the last of them by index + 1
	count    int32  // how many of those
}

// free is a release of unknown outcome.
type free struct {
	call   uint32
	before int32
}

// readOwned builds the sessions out of what owners did.
func (c *Checker) readOwned(o *Ops) {
	w := &c.owners
	c.sessions, w.all, w.of = c.sessions[:0], w.all[:0], w.of[:0]
	w.first, w.last, w.doubtful, w.frees = w.first[:0], w.last[:0], w.doubtful[:0], w.frees[:0]
	c.refused, c.unsure, c.ghosts, c.special = c.refused[:0], c.unsure[:0], 0, false
	for i := range o.Call {
		for int(o.Session[i]) >= len(w.all) {
			w.all = append(w.all, owner{session: None, guest: None})
		}
		if o.Kind[i] == Release {
			c.leave(o, i)
		} else {
			c.come(o, i)
		}
	}
	mixed := false
	for _, id := range w.doubtful {
		mixed = c.doubt(&w.all[id]) || mixed
	}
	if mixed {
		c.mixed = "an owner's acquire and its release are both of unknown outcome"
	}
	c.settle()
}

// hold begins a session of an owner.
func (c *Checker) hold(o *Ops, i int, st state) uint32 {
	id := uint32(len(c.sessions))
	c.sessions = append(c.sessions, session{call: o.Call[i], ret: Never, end: Never, last: Never, notHeld: Never, notHeldCall: Never, state: st})
	if st == granted || st == refused {
		c.sessions[id].ret = o.Ret[i]
	}
	w := &c.owners
	token := int64(0)
	if len(o.Aux) > 0 {
		token = o.Aux[i]
	}
	w.of, w.first, w.last = append(w.of, o.Session[i]), append(w.first, token), append(w.last, token)
	return id
}

// come takes an acquire.
func (c *Checker) come(o *Ops, i int) {
	w := &c.owners.all[o.Session[i]]
	if w.doubt {
		c.why = "an owner acquired again after an outcome of its own was unknown"
	}
	switch out := o.Out[i]; {
	case out == Unknown:
		c.doubted(w, o.Session[i])
		w.guest, w.inner = c.hold(o, i, unknown), w.depth > 0
	case out == StrictFail && w.depth > 0:
		c.found(RefusedThoughFree, w.session, None)
	case out == StrictFail:
		c.refused = append(c.refused, c.hold(o, i, refused))
	case out == Fail:
	case w.depth == 0:
		w.session, w.depth = c.hold(o, i, granted), 1
	default:
		w.depth++
		if len(o.Aux) > 0 {
			last := &c.owners.last[w.session]
			if o.Aux[i] < *last && c.fenced {
				c.found(TokenFell, w.session, w.session)
			}
			*last = o.Aux[i]
		}
	}
}

// leave takes a release.
func (c *Checker) leave(o *Ops, i int) {
	w := &c.owners.all[o.Session[i]]
	call, ret := o.Call[i], o.Ret[i]
	switch o.Out[i] {
	case OK:
		w.released = call
		switch {
		case w.depth > 1:
			w.depth--
		case w.depth == 1:
			w.depth = 0
			s := &c.sessions[w.session]
			s.end, s.last = call, ret
		case w.guest != None && !c.sessions[w.guest].released:
			s := &c.sessions[w.guest]
			s.released, s.end, s.last = true, call, ret
			c.unsure = append(c.unsure, w.guest)
		case w.session == None:
			c.found(ReleasedWithoutHolding, w.guest, None)
		default:
			c.found(ReleasedWithoutHolding, w.session, None)
		}
	case Unknown:
		if w.depth == 0 && w.guest == None {
			return
		}
		c.doubted(w, o.Session[i])
		if w.guest != None && !w.inner && !c.sessions[w.guest].released {
			s := &c.sessions[w.guest]
			s.end = min(s.end, call)
		}
		c.owners.frees = append(c.owners.frees, free{call, w.frees})
		w.frees, w.count = int32(len(c.owners.frees)), w.count+1
	default:
		for _, id := range [...]uint32{w.session, w.guest} {
			if id == None {
				continue
			}
			s := &c.sessions[id]
			s.notHeld = min(s.notHeld, ret)
			s.notHeldCall = min(s.notHeldCall, call)
			s.notHeldLast = max(s.notHeldLast, ret)
		}
	}
}

func (c *Checker) doubted(w *owner, id uint32) {
	if !w.doubt {
		w.doubt = true
		c.owners.doubtful = append(c.owners.doubtful, id)
	}
}

// doubt settles an owner with releases of unknown outcome, as many of which ended its
// hold as its depth needs. It tells whether there is a choice: with an acquire of
// unknown outcome as well, either may have undone the other.
func (c *Checker) doubt(w *owner) (choice bool) {
	if w.session != None && w.depth > 0 && w.count >= w.depth {
		at := w.frees - 1
		for n := w.count; n > w.depth; n-- {
			at = c.owners.frees[at].before - 1
		}
		s := &c.sessions[w.session]
		s.end = max(w.released, c.owners.frees[at].call)
	}
	if w.guest == None || !w.inner || w.count == 0 || c.sessions[w.guest].released {
		return false
	}
	c.sessions[w.guest].state = lost // the least: it never happened
	return true
}

// settle draws the core of each session that was granted, now that it is known what ended it.
func (c *Checker) settle() {
	cores := c.cores[:0]
	before, shifts := uint32(0), 0
	for i := range c.sessions {
		s := &c.sessions[i]
		switch {
		case s.state == unknown:
			if !s.released {
				c.ghosts++
			}
			c.special = c.special || s.notHeld != Never
			continue
		case s.state != granted:
			continue
		case s.notHeld != Never:
			c.refusedRelease(s, uint32(i))
		}
		if s.ret < before {
			shifts++
		}
		before = max(before, s.ret)
		cores = append(cores, uint64(s.ret)<<32|uint64(i))
	}
	c.cores = cores
	if shifts > 0 {
		c.sort(c.cores, shifts)
	}
}
