package sweep

import "slices"

// This file is the exact engine for readers and writers, for what refusals, ghosts and
// unsure sessions leave open together. Like that of the mutex (frontier.go) it walks
// over the events with all configurations that matter, and does nothing before some
// event needs it. What readers add:
//
//   - They stay as long as nobody needs them gone: a reader that was let go may explain
//     the refusal of a writer until its release has returned, and costs nothing. So who
//     is still there need not be written down: all whose cores began since a writer
//     held last, and who need not have left.
//
//   - A refused reader claims that a writer held, so it matters since when none does,
//     beside since when nobody does.
//
//   - Readers hide a moment at which a writer could have come and gone. So it is when a
//     reader comes to a lock that could be free that this is decided: take a refused
//     reader and two cores, and a ghost that may only be between them.
//
//     reader   ├──core──┤       ├──core──┤
//     refused       ├──────────────┤
//     a writer           ├─────┤
//
// Of readers that may come early the one whose core begins first is the best, because it
// is in nobody's way who was not in it before. With ghosts of two kinds what is left to
// choose is which kind to use: as many configurations as there are ghosts.
type crowd struct {
	frontier // its events, its slots, and of the ghosts those that are writers

	stances, following []stance
	youngReaders       []uint32
	ripeReaders        uint32
	tried              []uint32         // calls of refused readers that are under way
	began              []uint32         // where cores of readers began, of those who must have left at some position
	staying            uint32           // the latest of those who need not
	held               uint32           // until when the cores of readers hold
	callers            []uint32         // by core: the earliest call of those from here on to the next writer's
	marks              [marksMax]uint32 // calls of releases that are under way and will be told that nothing is held, or None
	work               int
}

// stance is a state that the lock may be in.
type stance struct {
	owner            uint32 // a writer, anybody, reading, or None
	since            uint32 // when it became free
	wrote            uint32 // when a writer held last
	block            uint32 // until when a reader stays that need not be there
	writers, readers uint32 // ghosts that have had their hold, by kind
	left             uint32 // how many of the readers are still there who may be gone
	guest            bool   // a ghost is among the readers, and stays as long as it may
	in               uint64 // by slot: who reads
	done             uint64 // who is over, or writes
	old              uint64 // by mark: whom the release is of held when it was called
}

// reading is the owner of a lock that readers hold.
const reading = None - 2

// What happens on top of the occasions of the mutex.
const (
	trying occasion = iota + turnedOff + 1 // an acquire of a reader was called that will be refused
	asking                                 // a release was called that will be told that nothing is held
)

const (
	stancesMax = 1 << 13
	marksMax   = 64
	workMax    = 1 << 26 // stances over all events of a lock: some seconds
)

// crowded decides the lock by its stances.
func (c *Checker) crowded() {
	f := &c.crowd
	f.prepare(c)
	for _, e := range f.events {
		f.take(c, e)
		if f.work += len(f.stances); f.overflow || f.work > workMax {
			c.why = tooMany
			return
		}
	}
}

// prepare collects the events.
func (f *crowd) prepare(c *Checker) {
	f.begin(c)
	f.stances = append(f.stances[:0], stance{owner: None})
	f.youngReaders, f.ripeReaders, f.tried, f.began = f.youngReaders[:0], 0, f.tried[:0], f.began[:0]
	f.staying, f.held, f.work = 0, 0, 0
	for i := range f.marks {
		f.marks[i] = None
	}
	for _, e := range f.events[:len(f.events):len(f.events)] {
		switch {
		case e.what == turnedOff && c.sessions[e.session].shared:
			f.events = append(f.events, event{e.call, e.session, e.call, trying})
		case e.what == denied:
			f.events = append(f.events, event{e.call, e.session, e.call, asking})
		}
	}
	f.order()
	f.callers = slices.Grow(f.callers[:0], len(c.cores))[:len(c.cores)]
	earliest := uint32(Never)
	for i := len(c.cores) - 1; i >= 0; i-- {
		if s := c.core(i); s.shared {
			earliest = min(earliest, s.call)
		} else {
			earliest = Never
		}
		f.callers[i] = earliest
	}
}

// take takes one event.
func (f *crowd) take(c *Checker, e event) {
	s := &c.sessions[e.session]
	switch e.what {
	case asked:
		if s.released || s.notHeld != Never {
			f.open(e.session)
		} else {
			f.pool(c, e.session)
		}
		return
	case ripe:
		f.mature(c, e.session)
		return
	case trying:
		f.tried = append(f.tried, e.call)
		return
	case asking:
		f.mark(e)
		return
	case let:
		if i, ok := slices.BinarySearch(f.began, s.ret); ok && s.shared && s.state == granted {
			f.began = slices.Delete(f.began, i, i+1)
		}
	}
	f.following = f.following[:0]
	for _, k := range f.stances {
		switch {
		case e.what == had && s.shared:
			f.join(c, k, joining{until: s.end}, e.pos)
		case e.what == had && k.owner == e.session:
			f.following = append(f.following, k)
		case e.what == had && f.mayLeave(c, k, e.pos):
			f.admit(c, k, e.session, e.pos)
		case e.what == had:
		case e.what == let:
			f.leave(c, k, e)
		case e.what == denied:
			f.deny(c, k, e)
		case e.what == turnedOff:
			f.turned(c, k, e)
		}
		if len(f.following) > 4*stancesMax {
			if f.following = f.best(f.following, e.pos); len(f.following) > stancesMax {
				f.overflow = true
				return
			}
		}
	}
	if len(f.following) == 0 {
		f.failed(c, e)
	}
	f.stances, f.following = f.following, f.stances[:0]
	f.settle(c, e)
	f.stances = f.best(f.stances, e.pos)
	f.overflow = f.overflow || len(f.stances) > stancesMax
}

// settle moves what all stances share past an event.
func (f *crowd) settle(c *Checker, e event) {
	s := &c.sessions[e.session]
	switch e.what {
	case had:
		f.next++
		switch {
		case !s.shared:
		case s.last == Never:
			f.held, f.staying = max(f.held, s.end), s.ret
		default:
			f.held, f.began = max(f.held, s.end), append(f.began, s.ret)
		}
	case turnedOff:
		if s.shared {
			i := slices.Index(f.tried, e.call)
			f.tried = slices.Delete(f.tried, i, i+1)
		}
	case let:
		f.close(c, e)
	case denied:
		f.unmark(e)
		f.close(c, e)
	}
}

// writing tells whether a writer holds.
func (k stance) writing() bool { return k.owner != None && k.owner != reading }

// mayLeave tells whether whoever holds may be gone by now.
func (f *crowd) mayLeave(c *Checker, k stance, now uint32) bool {
	switch k.owner {
	case None, anybody:
		return true
	case reading:
		if f.held > now || k.block > now {
			return false
		}
		for i, u := range f.slots {
			if k.in&(1<<i) != 0 && c.sessions[u].end > now {
				return false
			}
		}
		return true
	}
	return c.sessions[k.owner].end <= now
}

// emptied is the lock after a writer was there, if only for an instant.
func (k stance) emptied(now uint32) stance {
	k.owner, k.since, k.wrote, k.block, k.guest = None, now, now, 0, false
	k.done |= k.in
	k.in = 0
	return k
}

// lingering counts the readers who are still there, though they may be gone: a core
// that began before a writer held last was over by then.
func (f *crowd) lingering(k stance) int {
	gone, _ := slices.BinarySearch(f.began, k.wrote)
	n := len(f.began) - gone
	if f.staying > 0 && f.staying >= k.wrote {
		n++
	}
	return n
}

// perhapsFree is the lock after a reader has left: free, if it was the last.
func (f *crowd) perhapsFree(k stance, now uint32) stance {
	if k.owner == reading && !k.guest && k.in == 0 && k.block <= now && f.lingering(k) == 0 {
		k.owner, k.since = None, now
	}
	return k
}

// joining is a reader on its way in, and what it changes.
type joining struct {
	until uint32 // it stays at least so long
	block uint32
	slot  uint64
	ghost bool
	used  uint32
}

// join lets a reader in. If the lock may be free by now, writers can have come and gone
// before it.
func (f *crowd) join(c *Checker, k stance, j joining, now uint32) {
	seat := func(k stance) {
		k.owner = reading
		k.in |= j.slot
		k.block = max(k.block, j.block)
		k.guest = k.guest || j.ghost
		k.readers += j.used
		f.following = append(f.following, k)
	}
	switch {
	case f.mayLeave(c, k, now):
	case k.writing():
		return
	default:
		seat(k)
		return
	}
	may, must := f.couldHave(c, k, None, now, j.until, false)
	sought := !k.writing() && len(f.tried) > 0 && slices.Max(f.tried) >= k.wrote
	if sought {
		may |= f.mightHave(c, k, now)
	}
	if may|must != 0 {
		for sub := uint64(0); ; {
			if sub|must != 0 {
				n := k.emptied(now)
				n.done |= sub | must
				seat(n)
			}
			if sub = (sub - may) & may; sub == 0 || len(f.following) > 8*stancesMax {
				break
			}
		}
	}
	switch {
	case must != 0:
	case k.writing():
		seat(k.emptied(now))
	default:
		seat(k)
		if sought && f.ripe > k.writers {
			n := k.emptied(now)
			n.writers++
			seat(n)
		}
	}
}

// couldHave are the unsure sessions, by slot, that can have had their whole hold by now.
// Those that are over before somebody who comes now is gone must have.
func (f *crowd) couldHave(c *Checker, k stance, except, now, until uint32, shared bool) (may, must uint64) {
	for i, u := range f.slots {
		if u == None || u == except || (k.done|k.in)&(1<<i) != 0 {
			continue
		}
		s := &c.sessions[u]
		switch {
		case !s.released || s.end > now || s.shared && !shared:
		case s.last < until:
			must |= 1 << i
		default:
			may |= 1 << i
		}
	}
	return may, must
}

// mightHave are the writers that need not have held at all, by slot, and that can have by
// now: ghosts that were told something, and so are not like any other.
func (f *crowd) mightHave(c *Checker, k stance, now uint32) (may uint64) {
	for i, u := range f.slots {
		if u != None && k.done&(1<<i) == 0 && !c.sessions[u].shared && !c.sessions[u].released && c.sessions[u].end <= now {
			may |= 1 << i
		}
	}
	return may
}

// admit lets a writer in to a lock that may be free, after any of the unsure sessions
// that can have been there before.
func (f *crowd) admit(c *Checker, k stance, session, now uint32) {
	until := uint32(0)
	if session != anybody {
		until = c.sessions[session].end
	}
	may, must := f.couldHave(c, k, session, now, until, true)
	k = k.emptied(now)
	k.owner, k.since, k.wrote = session, 0, 0
	for sub := uint64(0); ; {
		n := k
		n.done |= sub | must
		f.following = append(f.following, n)
		if sub = (sub - may) & may; sub == 0 || len(f.following) > 8*stancesMax {
			return
		}
	}
}
