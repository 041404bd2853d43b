package sweep

import (
	"cmp"
	"slices"
)

// What was answered to readers and writers: released, not held, refused.

// leave: a release has returned ok, so its session holds no more.
func (f *crowd) leave(c *Checker, k stance, e event) {
	s := &c.sessions[e.session]
	slot, unsure := f.slot[e.session]
	bit := uint64(1) << slot
	switch {
	case k.owner == e.session:
		k = k.emptied(e.pos)
	case s.state == granted && s.shared, unsure && k.in&bit != 0:
		if unsure {
			k.in &^= bit
		}
		k = f.perhapsFree(k, e.pos)
	case !unsure || k.done&bit != 0:
		// It was over before.
	case s.shared && k.owner == reading:
		// It came and went among the others.
	case s.shared && k.owner == None:
		k.since = e.pos
	case f.mayLeave(c, k, e.pos):
		k = k.emptied(e.pos) // it came and went
	default:
		return
	}
	f.following = append(f.following, k)
}

// mark keeps who holds when a release is called that will be told that it does not. Each
// such release has a mark of its own, since a session may have several under way: with one
// for all, a ghost that came after the first call and before the second
//
//	first   ├─────────not held─┤
//	ghost       ├─────────────────
//	second          ├──not held───────┤
//
// would be taken for one that was there for both.
func (f *crowd) mark(e event) {
	slot, ok := f.slot[e.session]
	if !ok {
		return
	}
	m := slices.Index(f.marks[:], None)
	if m < 0 {
		f.overflow = true
		return
	}
	f.marks[m] = e.pos
	for i := range f.stances {
		if k := &f.stances[i]; k.owner == e.session || k.in&(1<<slot) != 0 {
			k.old |= 1 << m
		}
	}
}

// unmark frees the mark of a release that was answered.
func (f *crowd) unmark(e event) {
	m := slices.Index(f.marks[:], e.call)
	if m < 0 {
		return
	}
	f.marks[m] = None
	for i := range f.stances {
		f.stances[i].old &^= 1 << m
	}
}

// deny: a session was told that it does not hold. It may have come later, though, or
// gone by then.
func (f *crowd) deny(c *Checker, k stance, e event) {
	slot, open := f.slot[e.session]
	m := slices.Index(f.marks[:], e.call)
	if !open || m < 0 { // it was released for sure by then
		f.following = append(f.following, k)
		return
	}
	bit := uint64(1) << slot
	holds := k.owner == e.session || k.in&bit != 0
	if holds && k.old&(1<<m) != 0 {
		if c.sessions[e.session].end > e.pos {
			return
		}
		if k.owner == e.session {
			k = k.emptied(e.pos)
		} else {
			k.in &^= bit
			k.done |= bit
			k = f.perhapsFree(k, e.pos)
		}
	}
	f.following = append(f.following, k)
}

// turned: an acquire was refused, so somebody must have held, and a writer if it was a
// reader's.
func (f *crowd) turned(c *Checker, k stance, e event) {
	shared := c.sessions[e.session].shared
	if k.writing() || k.wrote > e.call || !shared && (k.owner == reading || k.since > e.call) {
		f.following = append(f.following, k)
		return
	}
	if !f.mayLeave(c, k, e.pos) {
		return
	}
	f.guest = e.session
	if f.next < len(c.cores) {
		if id := uint32(c.cores[f.next]); !c.sessions[id].shared && c.sessions[id].call < e.pos {
			f.admit(c, k, id, e.pos)
		}
	}
	for i, u := range f.slots {
		switch {
		case u == None || (k.done|k.in)&(1<<i) != 0:
		case !c.sessions[u].shared:
			n := k
			n.done |= 1 << i
			f.admit(c, n, u, e.pos)
		case !shared:
			f.join(c, k, joining{until: c.sessions[u].end, slot: 1 << i}, e.pos)
		}
	}
	n := k
	n.writers++
	switch {
	case f.ripe > k.writers:
		f.admit(c, n, anybody, e.pos)
	case len(f.young) > 0:
		f.admit(c, n, f.young[0], e.pos)
	}
	if !shared {
		f.early(c, k, e)
	}
}

// early lets a reader in before it is known to be there, or a ghost.
func (f *crowd) early(c *Checker, k stance, e event) {
	if f.next < len(c.cores) && f.callers[f.next] < e.pos {
		i := f.next
		for c.core(i).call > e.pos {
			i++
		}
		s := c.core(i)
		f.join(c, k, joining{until: s.end, block: s.end}, e.pos)
	}
	switch {
	case f.ripeReaders > k.readers:
		f.join(c, k, joining{ghost: true, used: 1}, e.pos)
	case len(f.youngReaders) > 0:
		end := c.sessions[f.youngReaders[0]].end
		f.join(c, k, joining{until: end, block: end, ghost: true, used: 1}, e.pos)
	}
}

// pool adds a ghost that cannot be released yet.
func (f *crowd) pool(c *Checker, session uint32) {
	pool := &f.young
	if c.sessions[session].shared {
		pool = &f.youngReaders
	}
	at, _ := slices.BinarySearchFunc(*pool, c.sessions[session].end, func(y, end uint32) int { return cmp.Compare(c.sessions[y].end, end) })
	*pool = slices.Insert(*pool, at, session)
}

// mature counts a ghost from now on.
func (f *crowd) mature(c *Checker, session uint32) {
	same := func(y uint32) bool { return y == session }
	if c.sessions[session].shared {
		f.ripeReaders++
		f.youngReaders = slices.DeleteFunc(f.youngReaders, same)
		return
	}
	f.ripe++
	f.young = slices.DeleteFunc(f.young, same)
	for i := range f.stances {
		if f.stances[i].owner == session {
			f.stances[i].owner = anybody
		}
	}
}

// close takes the bit from a session that needs it no more. A ghost that was told that
// it does not hold is like any other from then on.
func (f *crowd) close(c *Checker, e event) {
	i, ok := f.slot[e.session]
	s := &c.sessions[e.session]
	if !ok || e.what == denied && (s.released || e.pos < s.notHeldLast) {
		return
	}
	f.slots[i] = None
	delete(f.slot, e.session)
	bit := uint64(1) << i
	for n := range f.stances {
		k := &f.stances[n]
		switch {
		case e.what == let:
		case k.in&bit != 0:
			k.guest, k.block = true, max(k.block, s.end)
			k.readers++
		case k.done&bit != 0 && s.shared:
			k.readers++
		case k.done&bit != 0:
			k.writers++
		}
		k.in, k.done = k.in&^bit, k.done&^bit
	}
	if e.what == let {
		return
	}
	f.pool(c, e.session)
	if s.end <= e.pos {
		f.mature(c, e.session)
	}
}

// failed tells that no stance is left, and goes on as if the operation had not been.
func (f *crowd) failed(c *Checker, e event) {
	f.following = append(f.following, f.stances...)
	switch e.what {
	case let:
		c.found(ReleasedWithoutHolding, e.session, None)
	case turnedOff:
		c.found(RefusedThoughFree, e.session, None)
	default:
		// Whoever was let in to explain a refusal is in the way now.
		c.found(RefusedThoughFree, f.guest, None)
		for i := range f.following {
			k := f.following[i].emptied(e.pos)
			switch {
			case e.what == had && c.sessions[e.session].shared:
				k.owner = reading
			case e.what == had:
				k.owner = e.session
			}
			f.following[i] = k
		}
	}
}

// best keeps, of stances that differ only in how many ghosts are used and since when
// the lock is held by nobody or by no writer, those that none of the others is as good as.
func (f *crowd) best(all []stance, now uint32) []stance {
	if len(all) < 2 {
		return all
	}
	for i := range all {
		k := &all[i]
		if k.block <= now {
			k.block = 0
		}
		if k.left = 0; k.owner == reading {
			k.left, k.since = uint32(f.lingering(*k)), 0
		}
	}
	slices.SortFunc(all, func(a, b stance) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.in, b.in), cmp.Compare(a.done, b.done), cmp.Compare(a.old, b.old),
			boolOrder(a.guest, b.guest), cmp.Compare(a.left, b.left),
			cmp.Compare(a.writers, b.writers), cmp.Compare(a.readers, b.readers), cmp.Compare(b.wrote, a.wrote), cmp.Compare(b.since, a.since), cmp.Compare(a.block, b.block))
	})
	kept, group := all[:0], 0
	for _, k := range all {
		if len(kept) > 0 && !kept[len(kept)-1].like(k) {
			group = len(kept)
		}
		// Those that came last are the likeliest, and looking at a few is enough for that
		// there are not many.
		if !slices.ContainsFunc(kept[max(group, len(kept)-64):], func(x stance) bool { return x.noWorse(k) }) {
			kept = append(kept, k)
		}
	}
	return kept
}

// like tells whether two stances can be compared.
func (k stance) like(x stance) bool {
	return k.owner == x.owner && k.in == x.in && k.done == x.done && k.old == x.old && k.guest == x.guest && k.left == x.left
}

// noWorse tells whether whatever can follow on one can follow on the other.
func (k stance) noWorse(than stance) bool {
	return k.writers <= than.writers && k.readers <= than.readers && k.wrote >= than.wrote && k.since >= than.since && k.block <= than.block
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
