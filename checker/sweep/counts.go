package sweep

import (
	"math"
	"math/bits"
	"slices"
)

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
// possible together. Where only a choice among those would tell, readers and writers are
// left to an engine that tries them all (walk.go). Of a semaphore it is undecided: which
// of several holds add up to what a refusal needs is a sum of subsets.
//
// Permits and weights may be as large as an int64 can be, so that sums of them may not fit
// into one: two holders of 2^62 permits each, of 2^62. Sums have 128 bits, and whether a
// weight fits is asked of what is left.
//
// Readers and writers are a semaphore as well: a writer takes all permits of more than
// there can be readers, who take one each.
type counts struct {
	permits int64
	waiting []uint32
	later   []uint64 // sessions, packed: unsure ones by their releases' calls, refused ones by their returns
}

// writer is what one takes.
const writer = 1 << 40

// fits tells whether a weight can be added to a sum, of which all that matters is whether
// it leaves room: what is too large for an int64 is given as the largest one.
func (c *Checker) fits(sum, load int64) bool {
	return sum <= c.counts.permits && load <= c.counts.permits-sum
}

// counting judges a lock that several may hold.
func (c *Checker) counting(m Model, o *Ops) {
	c.loads(m, o)
	c.bounds()
	c.sweep(m)
	if len(c.refused) > 0 { // whatever else was found: what may have been held at most stays
		c.turnedAway(m)
	}
}

// loads finds how many permits each session takes.
func (c *Checker) loads(m Model, o *Ops) {
	c.counts.permits = writer
	c.weights = slices.Grow(c.weights[:0], len(c.sessions))[:len(c.sessions)]
	if m.Shape == RW {
		for i := range c.sessions {
			c.weights[i] = writer
			if c.sessions[i].shared {
				c.weights[i] = 1
			}
		}
		return
	}
	c.counts.permits = m.Permits
	if len(o.Aux) == 0 {
		for i := range c.weights {
			c.weights[i] = 1
		}
		return
	}
	// The acquires stand in the order of sessions. What a release writes is overwritten:
	// that costs less than to guess which comes next.
	n, aux, weights := 0, o.Aux[:len(o.Kind)], append(c.weights, 0)
	for i, k := range o.Kind {
		weights[n] = aux[i]
		if k != Release {
			n++
		}
	}
	c.weights = weights[:n]
}

// bounds keeps, of the releases of granted sessions, those that end their cores. They
// are in the order of their calls, so that nothing need be sorted.
func (c *Checker) bounds() {
	if !c.doubtful {
		return
	}
	ends := c.ends[:0]
	for _, packed := range c.ends {
		if c.sessions[uint32(packed)].end == uint32(packed>>32) {
			ends = append(ends, packed)
		}
	}
	c.ends = ends
}

// sweep counts what is held, and settles unsure sessions where they fit.
func (c *Checker) sweep(m Model) {
	k := &c.counts
	k.waiting, k.later = k.waiting[:0], k.later[:0]
	for _, i := range c.unsure {
		k.later = append(k.later, uint64(c.sessions[i].end)<<32|uint64(i))
	}
	k.later = append(k.later, nothing)
	c.cores, c.ends = append(c.cores, nothing), append(c.ends, nothing)
	var sum Total
	permits := uint64(k.permits)
	cores, ends, weights, later := c.cores, c.ends, c.weights, k.later
	longest := furthest{holder: None}
	for n, gone := 0, 0; ; {
		// Which of the two comes first is anybody's guess, so that there is no branch.
		core, end := cores[n], ends[gone]
		next := min(core, end)
		_, leaves := bits.Sub64(end, core, 0)
		if later[0] < next {
			k.waiting = append(k.waiting, uint32(later[0]))
			c.admit(sum.clamped(), uint32(later[0]>>32))
			later = later[1:]
			continue
		}
		if next == nothing {
			break
		}
		weight, mask := uint64(weights[uint32(next)]), -leaves
		low, carry := bits.Add64(sum.low, weight^mask, leaves)
		sum = Total{sum.high + mask + carry, low}
		if (sum.high > 0 || low > permits) && leaves == 0 {
			before := sum
			before.Add(-int64(weight))
			c.tooMuch(m, before.clamped(), longest.of(c, n), uint32(next))
		}
		gone += int(leaves)
		n += 1 - int(leaves)
		if len(k.waiting) > 0 && leaves > 0 {
			c.admit(sum.clamped(), uint32(next>>32))
		}
	}
	c.cores, c.ends = cores[:len(cores)-1], ends[:len(ends)-1]
	for _, i := range k.waiting {
		c.found(ReleasedWithoutHolding, i, None)
	}
}

// nothing stands after all that is packed: no position is so late but Never, which no
// core begins at.
const nothing = math.MaxUint64

// furthest finds whose hold goes on longest of the first cores. Most histories never ask.
type furthest struct {
	seen   int
	end    uint32
	holder uint32
}

func (f *furthest) of(c *Checker, n int) uint32 {
	for ; f.seen < n; f.seen++ {
		if s := c.core(f.seen); s.end > f.end {
			f.end, f.holder = s.end, uint32(c.cores[f.seen])
		}
	}
	return f.holder
}

// tooMuch tells that a session was granted what others still held.
func (c *Checker) tooMuch(m Model, sum int64, other, i uint32) {
	rule := TwoHolders
	switch {
	case m.Shape == Semaphore:
		rule = TooManyPermits
	case c.weights[i] != writer || sum < writer:
		rule = ReaderAndWriter
	}
	c.found(rule, other, i)
}

// admit settles those that fit now. Those whose release had returned by then are lost.
func (c *Checker) admit(sum int64, now uint32) {
	k := &c.counts
	k.waiting = slices.DeleteFunc(k.waiting, func(i uint32) bool {
		if c.sessions[i].last <= now {
			c.found(ReleasedWithoutHolding, i, None)
			return true
		}
		return c.fits(sum, c.weights[i])
	})
}
