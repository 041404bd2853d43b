package sweep

import (
	"math"
	"slices"
	"sort"
)

// timeline is how much is held after each of some positions.
type timeline struct {
	points []point
	// high and low are trees over the sums of the points: the leaves stand behind the
	// inner nodes, and a node has the highest or the lowest of the two below it.
	high, low []int64
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
	n := len(t.points)
	t.high, t.low = make([]int64, 2*n), make([]int64, 2*n)
	var sum Total
	for i, p := range t.points {
		sum.Add(p.sum)
		t.high[n+i], t.low[n+i] = sum.clamped(), sum.clamped()
	}
	for i := n - 1; i > 0; i-- {
		t.high[i], t.low[i] = max(t.high[2*i], t.high[2*i+1]), min(t.low[2*i], t.low[2*i+1])
	}
}

// between are the highest and the lowest sum between two positions.
func (t *timeline) between(from, to uint32) (most, least int64) {
	n := len(t.points)
	i := sort.Search(n, func(i int) bool { return t.points[i].pos > from })
	j := max(i, sort.Search(n, func(i int) bool { return t.points[i].pos >= to }))
	if i > 0 {
		i-- // what is held at the beginning
	} else if i == j {
		return 0, 0
	} else {
		most, least = t.over(i, j)
		return max(0, most), min(0, least)
	}
	return t.over(i, j)
}

// over are the highest and the lowest sum of some points.
func (t *timeline) over(i, j int) (most, least int64) {
	n := len(t.points)
	most, least = math.MinInt64, math.MaxInt64
	for i, j = i+n, j+n; i < j; i, j = i/2, j/2 {
		if i&1 == 1 {
			most, least = max(most, t.high[i]), min(least, t.low[i])
			i++
		}
		if j&1 == 1 {
			j--
			most, least = max(most, t.high[j]), min(least, t.low[j])
		}
	}
	return most, least
}

// most is the highest sum between two positions.
func (t *timeline) most(from, to uint32) int64 {
	most, _ := t.between(from, to)
	return most
}

// least is the lowest.
func (t *timeline) least(from, to uint32) int64 {
	_, least := t.between(from, to)
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
	legal, depends := c.legal(&longest), false
	c.open = c.open[:0]
	for _, i := range c.refused {
		s, load := &c.sessions[i], c.weights[i]
		if !c.fits(cores.most(s.call, s.ret), load) {
			continue // met the cores
		}
		c.open = append(c.open, i)
		switch {
		case c.fits(all.most(s.call, s.ret), load):
			c.found(RefusedThoughFree, i, None)
		case !legal || c.fits(longest.most(s.call, s.ret), load):
			depends = true
		}
	}
	switch {
	case !depends || len(c.Findings) > 0:
	case m.Shape == RW:
		c.search()
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
