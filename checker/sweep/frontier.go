package sweep

import (
	"cmp"
	"slices"
)

// This file is the exact engine for a mutex: what refusals, ghosts and unsure sessions
// leave open together. It walks over the events in order and keeps all configurations
// the lock may be in. Few of them differ in anything that matters later:
//
//   - Nothing is done before some event needs it: a lock that may have been released
//     counts as held until somebody must get it, because being held explains refusals
//     and nothing but an acquire minds.
//   - The cores are in order, so of the granted only the next one may acquire.
//   - Of ghosts that could be released the first one serves best, and of those that
//     could have been released by now it does not matter which: they are counted.
//   - Refusals need no bits. One is explained unless the lock has been free since
//     before its call, and so it is enough to know since when it is.
//
// What is left is exponential in the unsure sessions that are open at once alone.

// configuration is a state that the lock may be in.
type configuration struct {
	owner uint32 // a session, anybody, or None
	since uint32 // when that began
	used  uint32 // ghosts that have had their hold
	done  uint64 // by slot: unsure and special sessions that are over or hold
}

// anybody is a ghost that may be gone at any time.
const anybody = None - 1

const (
	configurationsMax = 1 << 16
	slotsMax          = 64
)

// occasion is what happens at a position.
type occasion uint8

const (
	asked     occasion = iota // an acquire of unknown outcome was called
	ripe                      // a ghost may be released from here on
	had                       // an acquire returned ok
	let                       // a release returned ok
	denied                    // a release was told that nothing is held
	turnedOff                 // an acquire was refused strictly
)

type event struct {
	pos     uint32
	session uint32
	call    uint32 // of the operation that returns
	what    occasion
}

type frontier struct {
	events   []event
	now, nxt []configuration
	slots    [slotsMax]uint32 // sessions, or None
	slot     map[uint32]int
	young    []uint32 // ghosts that cannot be released yet, the one that can first of all first
	ripe     uint32   // how many can
	next     int      // the core that is acquired next, or is being so
	guest    uint32   // the refusal for which somebody was let in last
	overflow bool
}

const tooMany = "more combinations of operations with unknown outcome are open at once than can be looked at"

// search decides the lock by its frontier.
func (c *Checker) search() {
	f := &c.frontier
	f.begin(c)
	f.now = append(f.now[:0], configuration{owner: None})
	for _, e := range f.events {
		f.step(c, e)
		if f.overflow {
			c.why = tooMany
			return
		}
	}
}

// begin collects the events.
func (f *frontier) begin(c *Checker) {
	f.events, f.young, f.ripe, f.next, f.guest, f.overflow = f.events[:0], f.young[:0], 0, 0, None, false
	if f.slot == nil {
		f.slot = map[uint32]int{}
	}
	clear(f.slot)
	for i := range f.slots {
		f.slots[i] = None
	}
	for i := range c.sessions {
		s := &c.sessions[i]
		id := uint32(i)
		switch s.state {
		case refused:
			f.events = append(f.events, event{s.ret, id, s.call, turnedOff})
		case granted:
			f.events = append(f.events, event{s.ret, id, s.call, had})
			if s.last != Never {
				f.events = append(f.events, event{s.last, id, s.end, let})
			}
		case unknown:
			f.events = append(f.events, event{s.call, id, s.call, asked})
			if s.released {
				f.events = append(f.events, event{s.last, id, s.end, let})
			} else if s.end != Never && (s.notHeld == Never || s.end > s.notHeldLast) {
				f.events = append(f.events, event{s.end, id, s.end, ripe})
			}
		}
	}
	f.denials(c)
	f.order()
}

func (f *frontier) order() {
	slices.SortFunc(f.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.what, b.what)) })
}

// denials adds what sessions of unknown acquire were told when they were released.
// Those that were granted have it in where their hold must have ended.
func (f *frontier) denials(c *Checker) {
	if !c.special {
		return
	}
	o := c.ops
	for i, k := range o.Kind {
		if k != Release || o.Out[i] != Fail && o.Out[i] != StrictFail {
			continue
		}
		id := o.Session[i]
		if c.reentrant {
			id = c.owners.all[id].guest
		}
		if id == None {
			continue
		}
		if s := &c.sessions[id]; s.state == unknown && s.call < o.Call[i] {
			f.events = append(f.events, event{o.Ret[i], id, o.Call[i], denied})
		}
	}
}

// step takes one event.
func (f *frontier) step(c *Checker, e event) {
	s := &c.sessions[e.session]
	switch e.what {
	case asked:
		if s.released || s.notHeld != Never {
			f.open(e.session)
		} else {
			f.grow(c, e.session)
		}
		return
	case ripe:
		f.ripen(e.session)
		return
	}
	f.nxt = f.nxt[:0]
	for _, k := range f.now {
		switch e.what {
		case had:
			f.acquired(c, k, e)
		case let:
			f.letGo(c, k, e)
		case denied:
			f.notHeld(c, k, e)
		case turnedOff:
			f.explained(c, k, e)
		}
		if len(f.nxt) > 2*configurationsMax {
			f.prune()
			if f.overflow {
				return
			}
		}
	}
	if len(f.nxt) == 0 {
		f.fail(c, e)
	}
	f.now, f.nxt = f.nxt, f.now[:0]
	f.close(c, e)
	f.prune()
}

// free tells whether the owner may be gone by now.
func (f *frontier) free(c *Checker, k configuration, now uint32) bool {
	return k.owner == None || k.owner == anybody || c.sessions[k.owner].end <= now
}

// acquired: the next core has begun.
func (f *frontier) acquired(c *Checker, k configuration, e event) {
	if k.owner == e.session {
		f.nxt = append(f.nxt, k)
		return
	}
	if f.free(c, k, e.pos) {
		k.since = e.pos
		f.enter(c, k, e.session, e.pos)
	}
}

// enter lets a session in, after any of the unsure ones that can have had their whole
// hold before it. They must have if they are over before it is.
func (f *frontier) enter(c *Checker, k configuration, session, now uint32) {
	var may, must uint64
	until := c.sessions[session].end
	for i, u := range f.slots {
		if u == None || k.done&(1<<i) != 0 || u == session {
			continue
		}
		if s := &c.sessions[u]; s.released && s.end <= now {
			may |= 1 << i
			if s.last < until {
				must |= 1 << i
			}
		}
	}
	k.owner, k.since = session, now
	may &^= must
	// All subsets of may.
	for sub := uint64(0); ; sub = (sub - may) & may {
		n := k
		n.done |= sub | must
		f.nxt = append(f.nxt, n)
		if sub == may || len(f.nxt) > 4*configurationsMax {
			return
		}
	}
}

// letGo: a release has returned ok, so its session holds no more.
func (f *frontier) letGo(c *Checker, k configuration, e event) {
	slot, unsure := f.slot[e.session]
	switch {
	case k.owner == e.session:
		k.owner, k.since = None, e.pos
	case !unsure || k.done&(1<<slot) != 0:
		// It was over before.
	case f.free(c, k, e.pos):
		k.owner, k.since = None, e.pos // it came and went
	default:
		return
	}
	f.nxt = append(f.nxt, k)
}

// notHeld: a session was told that it does not hold. It may have come later, though,
// or gone by then.
func (f *frontier) notHeld(c *Checker, k configuration, e event) {
	if k.owner == e.session && k.since < e.call {
		if !f.free(c, k, e.pos) {
			return
		}
		k.owner, k.since = None, e.pos
	}
	f.nxt = append(f.nxt, k)
}

// explained: somebody must have held while an acquire was refused.
func (f *frontier) explained(c *Checker, k configuration, e event) {
	if k.owner != None || k.since > e.call {
		f.nxt = append(f.nxt, k)
		return
	}
	f.guest = e.session
	if f.next < len(c.cores) {
		if id := uint32(c.cores[f.next]); c.sessions[id].call < e.pos {
			f.enter(c, k, id, e.pos)
		}
	}
	for i, u := range f.slots {
		if u != None && k.done&(1<<i) == 0 {
			n := k
			n.done |= 1 << i
			f.enter(c, n, u, e.pos)
		}
	}
	switch {
	case f.ripe > k.used:
		k.used++
		k.owner, k.since = anybody, e.pos
		f.nxt = append(f.nxt, k)
	case len(f.young) > 0:
		k.used++
		f.enter(c, k, f.young[0], e.pos)
	}
}

// open gives a session a bit.
func (f *frontier) open(session uint32) {
	for i, u := range f.slots {
		if u == None {
			f.slots[i] = session
			f.slot[session] = i
			return
		}
	}
	f.overflow = true
}

// close takes the bit from a session that needs it no more. A ghost that was told
// that it does not hold is like any other from then on.
func (f *frontier) close(c *Checker, e event) {
	switch e.what {
	case had:
		f.next++
		return
	case turnedOff:
		return
	}
	i, ok := f.slot[e.session]
	s := &c.sessions[e.session]
	if !ok || e.what == denied && (s.released || e.pos < s.notHeldLast) {
		return
	}
	f.slots[i] = None
	delete(f.slot, e.session)
	for n := range f.now {
		k := &f.now[n]
		if e.what == denied && k.done&(1<<i) != 0 {
			k.used++
		}
		k.done &^= 1 << i
	}
	if e.what == let {
		return
	}
	f.grow(c, e.session)
	if s.end <= e.pos {
		f.ripen(e.session)
	}
}

// grow adds a ghost that cannot be released yet.
func (f *frontier) grow(c *Checker, session uint32) {
	at, _ := slices.BinarySearchFunc(f.young, c.sessions[session].end, func(y, end uint32) int { return cmp.Compare(c.sessions[y].end, end) })
	f.young = slices.Insert(f.young, at, session)
}

// ripen counts a ghost from now on.
func (f *frontier) ripen(session uint32) {
	f.ripe++
	f.young = slices.DeleteFunc(f.young, func(y uint32) bool { return y == session })
	for i := range f.now {
		if f.now[i].owner == session {
			f.now[i].owner = anybody
		}
	}
}

// fail tells that no configuration is left, and goes on as if the operation had not
// been.
func (f *frontier) fail(c *Checker, e event) {
	f.nxt = append(f.nxt, f.now...)
	switch e.what {
	case let:
		c.found(ReleasedWithoutHolding, e.session, None)
	case turnedOff:
		c.found(RefusedThoughFree, e.session, None)
	default:
		// Whoever was let in to explain a refusal is in the way now.
		c.found(RefusedThoughFree, f.guest, None)
		for i := range f.nxt {
			f.nxt[i].since = e.pos
			f.nxt[i].owner = None
			if e.what == had {
				f.nxt[i].owner = e.session
			}
		}
	}
}

// prune drops configurations that another one is at least as good as.
func (f *frontier) prune() {
	if len(f.now) > 1 {
		f.now = best(f.now)
	}
	if len(f.nxt) > 2*configurationsMax {
		f.nxt = best(f.nxt)
	}
	f.overflow = f.overflow || len(f.now) > configurationsMax || len(f.nxt) > configurationsMax
}

// best keeps, of those that differ only in how many ghosts are used and since when
// the owner holds, the ones with fewer and later.
func best(all []configuration) []configuration {
	slices.SortFunc(all, func(a, b configuration) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.done, b.done),
			cmp.Compare(a.used, b.used), cmp.Compare(b.since, a.since))
	})
	kept := all[:1]
	for _, k := range all[1:] {
		last := kept[len(kept)-1]
		if k.owner == last.owner && k.done == last.done && k.since <= last.since {
			continue
		}
		kept = append(kept, k)
	}
	return kept
}
