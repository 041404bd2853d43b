package sweep

import "slices"

// This file checks locks that several may hold: readers and writers, and semaphores
// with weights. There is nothing to be found by order alone, so the cores are swept:
// two points each, and a count of what is held in between.
//
//	W ├───writer───┤
//	R                 ├──reader──┤
//	r                      ├───reader───┤
//	held   1            1'     2'     1'
//
// A release that was ok though its acquire is unknown must find room at some instant
// between its call and return. Refusals that claim that it was not possible are
// explained by the cores, or by what may have been held around them if all of that is
// possible together. Where only a choice among those would tell, the answer is
// undecided: with weights, that choice is the sum of subsets.
type counts struct {
	waiting []uint32
	later   []uint64 // unsure sessions by their releases' calls
}

// load is what a session counts for.
func (c *Checker) load(m Model, i uint32) int64 {
	s := &c.sessions[i]
	switch {
	case m.Shape == Semaphore:
		return c.weight(i)
	case s.shared:
		return 1
	default:
		return writer
	}
}

// writer weighs more than all readers there can be, so a sum tells both apart.
const writer = 1 << 40

// fits tells whether a load can be added to a sum.
func fits(m Model, sum, load int64) bool {
	switch {
	case m.Shape == Semaphore:
		return sum+load <= m.Permits
	case load == writer:
		return sum == 0
	default:
		return sum < writer
	}
}

func (c *Checker) weight(i uint32) int64 { return c.weights[i] }

func (c *Checker) counting(m Model, o *Ops) {
	c.weights = c.weights[:0]
	if m.Shape == Semaphore {
		for i, k := range o.Kind {
			if k != Release {
				w := int64(1)
				if len(o.Aux) > 0 {
					w = o.Aux[i]
				}
				c.weights = append(c.weights, w)
			}
		}
	}
	c.bounds()
	c.sweep(m)
	if len(c.refused) > 0 && len(c.Findings) == 0 {
		c.turnedAway(m)
	}
}

// bounds sorts the ends of the cores.
func (c *Checker) bounds() {
	ends := c.ends[:0]
	before, shifts := uint32(0), 0
	for _, packed := range c.cores {
		i := uint32(packed)
		end := c.sessions[i].end
		if end == Never {
			continue
		}
		if end < before {
			shifts++
		}
		before = max(before, end)
		ends = append(ends, uint64(end)<<32|uint64(i))
	}
	c.ends = ends
	c.sort(c.ends, shifts)
}

// sweep counts what is held, and settles unsure sessions where they fit.
func (c *Checker) sweep(m Model) {
	k := &c.counts
	k.waiting, k.later = k.waiting[:0], k.later[:0]
	for _, i := range c.unsure {
		k.later = append(k.later, uint64(c.sessions[i].end)<<32|uint64(i))
	}
	sum := int64(0)
	ends, later := c.ends, k.later
	furthest, far := uint32(None), uint32(0) // of those open, whose hold goes on longest
	enter := func(until uint32) {            // what happens before a position
		for {
			end, ask := uint32(Never), uint32(Never)
			if len(ends) > 0 {
				end = uint32(ends[0] >> 32)
			}
			if len(later) > 0 {
				ask = uint32(later[0] >> 32)
			}
			at := min(end, ask)
			switch {
			case at >= until:
				return
			case ask < end:
				k.waiting = append(k.waiting, uint32(later[0]))
				later = later[1:]
			default:
				sum -= c.load(m, uint32(ends[0]))
				ends = ends[1:]
			}
			if len(k.waiting) > 0 {
				c.admit(m, sum, at)
			}
		}
	}
	for _, packed := range c.cores {
		i := uint32(packed)
		s := &c.sessions[i]
		enter(s.ret)
		load := c.load(m, i)
		if !fits(m, sum, load) {
			rule := TwoHolders
			switch {
			case m.Shape == Semaphore:
				rule = TooManyPermits
			case load != writer || sum < writer:
				rule = ReaderAndWriter
			}
			c.found(rule, furthest, i)
		}
		sum += load
		if s.end > far {
			far, furthest = s.end, i
		}
	}
	enter(Never)
	for _, i := range k.waiting {
		c.found(ReleasedWithoutHolding, i, None)
	}
}

// admit settles those that fit now. Those whose release had returned by then are lost.
func (c *Checker) admit(m Model, sum int64, now uint32) {
	k := &c.counts
	k.waiting = slices.DeleteFunc(k.waiting, func(i uint32) bool {
		if c.sessions[i].last <= now {
			c.found(ReleasedWithoutHolding, i, None)
			return true
		}
		return fits(m, sum, c.load(m, i))
	})
}
