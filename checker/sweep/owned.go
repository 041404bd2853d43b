package sweep

import "slices"

// This file checks mutexes and locks of readers and writers whose owners have several
// sessions. A release names a session and gives back that session's hold and no other, so
// all there is to say of owners is who may hold together: sessions of one owner in any
// mode, those of different owners if both read. A lock that may be held by some may be
// held by fewer of them, so it is looked at by cores as any other, and nobody counts how
// often an owner has entered:
//
//	owner x   session 0   ├─────────core─────────┤
//	          session 1        ├───core───┤
//	          session 2              ├────────core────────┤
//	owner y                                               ├──core──┤
//
// If nothing was refused strictly, the history is linearizable if and only if
//
//	(i)   cores that conflict are apart (collisions),
//	(ii)  each session of unknown acquire and ok release has an instant between that
//	      release's call and return at which it is compatible with the open cores (instants),
//	(iii) each session is sane by itself (cores.go).
//
// An owner that goes on after an outcome of its own is unknown is nothing special: the
// unknown acquire may have happened, and then it holds beside the others.

// count counts the sessions of each owner, and tells whether some owner has several.
func (c *Checker) count(owners []uint32) (several bool) {
	n := 0
	for _, owner := range owners {
		n = max(n, int(owner)+1)
	}
	c.families = slices.Grow(c.families[:0], n)[:n]
	clear(c.families)
	most := uint32(0)
	for _, owner := range owners {
		c.families[owner]++
		most = max(most, c.families[owner])
	}
	return most > 1
}

// owned judges a lock whose owners have several sessions.
func (c *Checker) owned(o *Ops) {
	apart := c.collisions()
	if c.fenced && len(o.Aux) > 0 {
		c.ownedTokens(o, apart)
	}
	if len(c.unsure) > 0 {
		c.instants()
	}
	if len(c.refused) > 0 {
		c.ownedRefusals(apart)
	}
}

// Modes.
const (
	exclusive = iota
	shared
)

// reach is how far the intervals go that have begun, by whose they are: the furthest end,
// and the furthest one of any other owner.
type reach struct {
	first, second uint32 // ends
	holder, other uint32 // sessions
	owner         uint32 // of the first
}

func (r *reach) add(owner, session, end uint32) {
	switch {
	case r.first == 0 || owner == r.owner:
		if end > r.first {
			r.first, r.holder, r.owner = end, session, owner
		}
	case end > r.first:
		*r = reach{end, r.first, session, r.holder, owner}
	case end > r.second:
		r.second, r.other = end, session
	}
}

// beyond is the furthest end of other owners than one, and whose that is.
func (r *reach) beyond(owner uint32) (end, session uint32) {
	if r.first > 0 && r.owner == owner {
		return r.second, r.other
	}
	return r.first, r.holder
}

// collisions tells of cores that meet and must not, and whether there are none.
func (c *Checker) collisions() (apart bool) {
	var all, writers reach
	apart = true
	for _, packed := range c.cores {
		i := uint32(packed)
		s, owner := &c.sessions[i], c.owners[i]
		switch {
		case s.ret >= all.first: // nobody is left, so none of them matters any more
			all, writers = reach{}, reach{}
		case owner != all.owner || all.second > s.ret:
			apart = c.meets(&all, &writers, i) && apart
		}
		all.add(owner, i, s.end)
		if !s.shared {
			writers.add(owner, i, s.end)
		}
	}
	return apart
}

// meets tells of a core that begins while others are open, and whether it may.
func (c *Checker) meets(all, writers *reach, i uint32) (apart bool) {
	s, owner := &c.sessions[i], c.owners[i]
	if end, other := writers.beyond(owner); end > s.ret {
		rule := TwoHolders
		if s.shared {
			rule = ReaderAndWriter
		}
		c.found(rule, other, i)
		return false
	}
	if end, other := all.beyond(owner); end > s.ret && !s.shared {
		c.found(ReaderAndWriter, other, i)
		return false
	}
	return true
}

// ownedRefusals judges the refusals of a lock with owners. One that meets a core which it
// conflicts with is right. One that meets nothing it conflicts with, however long that may
// have gone on, is wrong. For the others all ways are looked at together.
func (c *Checker) ownedRefusals(apart bool) {
	k := &c.counts
	k.later = k.later[:0]
	for _, i := range c.refused {
		k.later = append(k.later, uint64(c.sessions[i].ret)<<32|uint64(i))
	}
	slices.Sort(k.later)
	var cores, longest [2]reach // of writers, and of all
	core, next := 0, 0
	c.open = c.open[:0]
	for _, packed := range k.later {
		i, now := uint32(packed), uint32(packed>>32)
		for ; core < len(c.cores) && uint32(c.cores[core]>>32) < now; core++ {
			id := uint32(c.cores[core])
			c.reaches(&cores, id, c.sessions[id].end)
		}
		for ; next < len(c.sessions) && c.sessions[next].call < now; next++ {
			if s := &c.sessions[next]; s.state == granted || s.state == unknown {
				c.reaches(&longest, uint32(next), s.last)
			}
		}
		switch s := &c.sessions[i]; {
		case c.furthest(&cores, i) > s.call:
		case c.furthest(&longest, i) <= s.call:
			c.found(RefusedThoughFree, i, None)
		default:
			c.open = append(c.open, i)
		}
	}
	if !apart || len(c.open) == 0 {
		return
	}
	c.search()
	if c.fenced && c.why == "" {
		c.why = "whether a refusal was right may depend on the order in which an owner was given its tokens"
	}
}

func (c *Checker) reaches(r *[2]reach, session, end uint32) {
	r[shared].add(c.owners[session], session, end)
	if !c.sessions[session].shared {
		r[exclusive].add(c.owners[session], session, end)
	}
}

// furthest is the furthest end of those that explain a refusal.
func (c *Checker) furthest(r *[2]reach, refused uint32) uint32 {
	of := &r[shared]
	if c.sessions[refused].shared {
		of = &r[exclusive]
	}
	if !c.reentrant {
		return of.first
	}
	end, _ := of.beyond(c.owners[refused])
	return end
}
