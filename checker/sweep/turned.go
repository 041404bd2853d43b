package sweep

import (
	"slices"
	"sort"
)

// timeline is how much is held after each of some positions.
type timeline struct {
	points []point
}

type point struct {
	pos uint32
	sum int64 // from here to the next one
}

// hold adds one from a position to another.
func (t *timeline) hold(from, to uint32, load int64) {
	t.points = append(t.points, point{from, load})
	if to != Never {
		t.points = append(t.points, point{to, -load})
	}
}

func (t *timeline) draw() {
	slices.SortFunc(t.points, func(a, b point) int { return int(a.pos) - int(b.pos) })
	var sum total
	for i := range t.points {
		p := &t.points[i]
		if p.sum < 0 {
			sum = sum.plus(-p.sum, 1)
		} else {
			sum = sum.plus(p.sum, 0)
		}
		p.sum = sum.clamped()
	}
}

// most is the highest sum between two positions.
func (t *timeline) most(from, to uint32) int64 {
	i := sort.Search(len(t.points), func(i int) bool { return t.points[i].pos > from })
	most := int64(0)
	if i > 0 {
		most = t.points[i-1].sum
	}
	for ; i < len(t.points) && t.points[i].pos < to; i++ {
		most = max(most, t.points[i].sum)
	}
	return most
}

// least is the lowest.
func (t *timeline) least(from, to uint32) int64 {
	i := sort.Search(len(t.points), func(i int) bool { return t.points[i].pos > from })
	least := int64(0)
	if i > 0 {
		least = t.points[i-1].sum
	}
	for ; i < len(t.points) && t.points[i].pos < to; i++ {
		least = min(least, t.points[i].sum)
	}
	return least
}

// turnedAway judges the strict refusals of a lock that several may hold. Three
// timelines bound what can have been held: the cores certainly were; all that may have
// been is an upper bound; and what was granted, held as long as may be, is possible
// if it is legal throughout.
func (c *Checker) turnedAway(m Model) {
	var cores, all, longest timeline
	for i := range c.sessions {
		s := &c.sessions[i]
		switch s.state {
		case granted:
			load := c.weights[i]
			cores.hold(s.ret, s.end, load)
			longest.hold(s.call, s.last, load)
			all.hold(s.call, s.last, load)
		case unknown:
			all.hold(s.call, s.last, c.weights[i])
		}
	}
	cores.draw()
	all.draw()
	longest.draw()
	legal, open := c.legal(&longest), false
	for _, i := range c.refused {
		s, load := &c.sessions[i], c.weights[i]
		switch {
		case !c.fits(cores.most(s.call, s.ret), load):
		case c.fits(all.most(s.call, s.ret), load):
			c.found(RefusedThoughFree, i, None)
		case !legal || c.fits(longest.most(s.call, s.ret), load):
			open = true
		}
	}
	switch {
	case !open || len(c.Findings) > 0:
	case m.Shape == RW:
		c.crowded()
	default:
		c.why = tooManyHolds
	}
}

const tooManyHolds = "whether a refusal was right depends on which of several holds went on longer than they had to"

// legal tells whether all that was granted can have been held as long as may be,
// together, with room left for the unsure.
func (c *Checker) legal(t *timeline) bool {
	for i := range c.sessions {
		s := &c.sessions[i]
		load := c.weights[i]
		switch {
		case s.state == granted && t.most(s.call, s.last) > c.counts.permits:
			return false
		case s.state == unknown && s.released && !c.fits(t.least(s.end, s.last), load):
			return false
		}
	}
	return true
}
