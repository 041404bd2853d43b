package sweep

import (
	"cmp"
	"slices"
)

// A release ends the hold of one session. So owners matter only for the question which sessions may hold together:
// sessions of one owner in any mode, and sessions of different owners if both are shared. Re-entries are not counted:
//
//	owner x   session 0   ├─────────core─────────┤
//	          session 1        ├───core───┤
//	          session 2              ├────────core────────┤
//	owner y                                               ├──core──┤
//
// Collisions decides the first condition of the theorem in docs/checker.md, instants the second
// one, and sessions.go the third one.

// reach has the furthest ends of the intervals that have begun: the furthest end of all with its owner, and the furthest
// end of any other owner.
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

// beyond returns the furthest end of other owners than the given one, with its session.
func (r *reach) beyond(owner uint32) (end, session uint32) {
	if r.first > 0 && r.owner == owner {
		return r.second, r.other
	}
	return r.first, r.holder
}

// reaches has the reach of all intervals and the reach of writers.
type reaches struct{ all, writers reach }

func (r *reaches) add(s *session, id, end uint32) {
	r.all.add(s.owner, id, end)
	if !s.shared {
		r.writers.add(s.owner, id, end)
	}
}

// against returns the reach of the sessions with which a session conflicts: readers conflict with writers, writers with all.
func (r *reaches) against(s *session) *reach {
	if s.shared {
		return &r.writers
	}
	return &r.all
}

// collisions finds conflicting cores that overlap, and reports whether there are none.
func (l *lock) collisions() (apart bool) {
	var open reaches
	apart = true
	for _, i := range l.cores {
		s := &l.sessions[i]
		// Compare with the furthest end and not with that of the previous core: in A[0,100] B[10,20]
		// C[30,40], both B and C overlap with A.
		if s.ret >= open.all.first {
			open = reaches{} // no session holds any more
		}
		if end, other := open.writers.beyond(s.owner); end > s.ret && !s.shared {
			l.found(TwoHolders, other, i)
			apart = false
		} else if end, other := open.against(s).beyond(s.owner); end > s.ret {
			l.found(ReaderAndWriter, other, i)
			apart = false
		}
		open.add(s, i, s.end)
	}
	return apart
}

// instants searches for each unsure session an instant between the call and the return of its release at which no core conflicts
// with the session. Cores of its own owner do not conflict.
//
//	core                ├───────────────┤
//	core                             ├──────┤
//	release, ok             ├───────────────────┤
//	                                        └─ here
func (l *lock) instants() {
	if len(l.unsure) == 0 {
		return
	}
	begun := make([]reaches, len(l.cores)+1) // by the number of cores that have begun
	for n, i := range l.cores {
		begun[n+1] = begun[n]
		begun[n+1].add(&l.sessions[i], i, l.sessions[i].end)
	}
	var without []uint32
	for _, i := range l.unsure {
		s := &l.sessions[i]
		for now := s.end; ; {
			n, _ := slices.BinarySearchFunc(l.cores, now, func(core, now uint32) int { return cmp.Compare(l.sessions[core].ret, now) })
			end, _ := begun[n].against(s).beyond(s.owner)
			if end <= now {
				break
			}
			if now = end; now >= s.last {
				without = append(without, i)
				break
			}
		}
	}
	slices.Sort(without)
	for _, i := range without {
		l.found(ReleasedWithoutHolding, i, None)
		l.sessions[i].state = lost
	}
}

// refusals judges strict refusals. A refusal is right if a conflicting core overlaps with it. It is wrong if no conflicting hold
// overlaps with it, however long each hold may have lasted. A search over all orders decides the others.
func (l *lock) refusals(apart bool) {
	byReturn := slices.SortedFunc(slices.Values(l.refused), func(a, b uint32) int { return cmp.Compare(l.sessions[a].ret, l.sessions[b].ret) })
	var cores, longest reaches
	core, next := 0, 0
	for _, i := range byReturn {
		s := &l.sessions[i]
		for ; core < len(l.cores) && l.sessions[l.cores[core]].ret < s.ret; core++ {
			id := l.cores[core]
			cores.add(&l.sessions[id], id, l.sessions[id].end)
		}
		for ; next < len(l.sessions) && l.sessions[next].call < s.ret; next++ {
			if t := &l.sessions[next]; t.state == granted || t.state == unknown {
				longest.add(t, uint32(next), t.last)
			}
		}
		switch {
		case l.inTheWay(&cores, s) > s.call:
		case l.inTheWay(&longest, s) <= s.call:
			l.found(RefusedThoughFree, i, None)
		default:
			l.open = append(l.open, i)
		}
	}
	if apart && len(l.open) > 0 {
		l.search()
	}
}

// inTheWay returns the furthest end of the holds that justify refusing a session.
func (l *lock) inTheWay(r *reaches, s *session) uint32 {
	of := r.against(s)
	if !l.reentrant {
		return of.first
	}
	end, _ := of.beyond(s.owner)
	return end
}
