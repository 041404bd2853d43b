package sweep

import "sort"

// This file looks at what happened in the gaps between cores: tries that were refused
// and claim that the lock was held, and releases that were ok although nobody knows
// whether their acquires were.
//
//	core    ├──────L──────┤                              ├──────R──────┤
//	may hold              ├─ ─ ─ ┤                ├─ ─ ─ ┤
//	refused    1 ├────┤    2 ├─┤      3 ├────┤      4 ├─┤
//
// 1 met a core. 2 is explained if L was released as late as possible, 4 if R was
// acquired as early as possible; both can be had at once, by handing over at some
// instant. The gap is tight then: it may have no free moment left. 3 needs somebody
// else, and all that is left are acquires of unknown outcome that nothing proves to
// have happened. One of them explains all refusals of its gap, because its hold can be
// stretched over them: it must only have been called before the first of them
// returned, and its release before the gap was over.

// gap is one in which a refusal needs more than cores. What needs an unknown acquire needed it
// by the position before; Never: the gap is tight, and nothing else.
type gap struct {
	index  int // of the core on its right
	before uint32
	needed uint32 // session of the refusal
}

type gaps struct {
	all     []gap // in order
	needing []gap
	fits    []int32 // unknown acquires, by the first needing gap that they fit
}

// between judges the gaps. If cores collided, only what no unknown acquire could mend is told.
func (c *Checker) between(apart bool) {
	c.explain()
	exact := c.fill() // whether an unsure session competes for a gap
	if len(c.gaps.needing) > 0 && !exact && !c.assign() {
		exact = true
	}
	if exact && apart {
		c.search()
	}
}

// explain finds the gaps of the refusals that no core explains.
func (c *Checker) explain() {
	g := &c.gaps
	g.all, g.needing = g.all[:0], g.needing[:0]
	c.open = c.open[:0]
	next := 0 // the first core that ends after the refusal was called
	for _, i := range c.refused {
		f := &c.sessions[i]
		for next < len(c.cores) && c.core(next).end < f.call {
			next++
		}
		before := uint32(Never)
		if next < len(c.cores) {
			right := c.core(next)
			if right.ret < f.ret {
				continue // met its core
			}
		}
		c.open = append(c.open, i)
		if next < len(c.cores) {
			right := c.core(next)
			if f.ret > right.call {
				c.note(next, before, i)
				continue
			}
		}
		if next == 0 || f.call > c.core(next-1).last {
			before = f.ret
		}
		c.note(next, before, i)
	}
	for _, gap := range g.all {
		if gap.before != Never {
			g.needing = append(g.needing, gap)
		}
	}
}

// note keeps what a refusal says of its gap. Refusals come in the order of their
// calls, and so do their gaps.
func (c *Checker) note(index int, before, refusal uint32) {
	all := c.gaps.all
	n := len(all)
	if n == 0 || all[n-1].index != index {
		c.gaps.all = append(all, gap{index, before, refusal})
		return
	}
	if before < all[n-1].before {
		all[n-1].before, all[n-1].needed = before, refusal
	}
}

// fill looks for an instant for each unsure session: between its release's call and
// return, in a gap that has a free moment. It tells whether some session finds room
// only where it may be taken.
func (c *Checker) fill() (exact bool) {
	at := 0
	for _, i := range c.unsure {
		s := &c.sessions[i]
		// Releases come in the order of their calls, and so do the cores that they meet.
		for at < len(c.cores) && c.core(at).end < s.end {
			at++
		}
		if at == len(c.cores) || c.core(at).ret > s.end {
			exact = exact || !c.roomIn(at, s.last)
			continue
		}
		if s.last < c.core(at).end {
			c.found(ReleasedWithoutHolding, i, None)
			s.state = lost // told; it need not be fitted in any more
			continue
		}
		exact = exact || !c.roomIn(at+1, s.last)
	}
	return exact
}

// roomIn tells whether a gap has a free moment for sure: the one left of a core, or
// one of those after it that begin before a position.
func (c *Checker) roomIn(index int, until uint32) bool {
	all := c.gaps.all
	k := sort.Search(len(all), func(k int) bool { return all[k].index >= index })
	for ; ; k++ {
		if k == len(all) || all[k].index != index {
			return true
		}
		if index >= len(c.cores) || c.core(index).end > until {
			return false
		}
		index++
	}
}

// assign gives each gap that needs one an unknown acquire, and tells whether it found a
// certain answer.
//
// Both bounds of a gap grow from gap to gap, so an acquire that fits one fits all later
// ones until it is used: it is enough to count how many there are for the first gap,
// the first two, and so on.
func (c *Checker) assign() (certain bool) {
	g := &c.gaps
	g.fits = g.fits[:0]
	for range g.needing {
		g.fits = append(g.fits, 0)
	}
	if c.unknowns > 0 {
		for i := range c.sessions {
			s := &c.sessions[i]
			if s.state != unknown || s.released || s.notHeld != Never {
				continue
			}
			k := sort.Search(len(g.needing), func(k int) bool {
				return g.needing[k].before > s.call && c.over(g.needing[k]) >= uint64(s.end)
			})
			if k < len(g.fits) {
				g.fits[k]++
			}
		}
	}
	pool := int32(0)
	for k, n := range g.fits {
		if pool += n - 1; pool >= 0 {
			continue
		}
		if len(c.unsure) > 0 || c.special {
			return false // one of those could have served
		}
		c.found(RefusedThoughFree, g.needing[k].needed, None)
		pool = 0
	}
	return true
}

// over is where a gap ends. The last one is open: even who is never released fits.
func (c *Checker) over(g gap) uint64 {
	if g.index == len(c.cores) {
		return Never
	}
	return uint64(c.core(g.index).ret)
}
