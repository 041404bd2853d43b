package sweep

import (
	"cmp"
	"math"
	"slices"
)

// This file looks at the tokens of a fenced lock whose owners have several sessions. From
// one owner to the next they grow. Those of one owner, with no other's core in between, say
// in which order it was granted the lock, and that order must be possible: none is less than
// one that was granted before it was asked for. Where an owner may enter again, it may be
// given one token twice; some libraries count up on re-entry, others do not.
//
// The order moves cores as well. Session 0 was granted before session 1, so it holds from
// there on:
//
//	session 0   acquire ─────────────────────────── ok, token 1
//	session 1        acquire ── ok, token 2   release
//	                            ├─ held without a break ─────
func (c *Checker) ownedTokens(o *Ops, apart bool) {
	c.tokensOf(o)
	before, holder := int64(math.MinInt64), uint32(None) // of all owners before
	moved := false
	for from := 0; from < len(c.cores); {
		to := from + 1
		for to < len(c.cores) && c.owners[uint32(c.cores[from])] == c.owners[uint32(c.cores[to])] {
			to++
		}
		run := c.cores[from:to]
		if holder != None {
			for _, packed := range run {
				if i := uint32(packed); c.tokenOf[i] <= before {
					c.found(TokenFell, holder, i)
				}
			}
		}
		before, holder, moved = c.run(run, apart, moved)
		from = to
	}
	if moved {
		slices.Sort(c.cores)
	}
}

// run checks the tokens of an owner's cores, moves those that must begin earlier, and
// returns the highest token and its session.
func (c *Checker) run(cores []uint64, apart, moved bool) (highest int64, holder uint32, nowMoved bool) {
	order := c.order[:0] // places of cores, the highest token first
	for n := range cores {
		order = append(order, uint32(n))
	}
	c.order = order
	token := func(n uint32) int64 { return c.tokenOf[uint32(cores[n])] }
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(token(b), token(a)) })
	holder = uint32(cores[order[0]])
	// Of all whose tokens are higher: who was granted first, and when.
	first, earliest := uint32(None), uint32(Never)
	for at := 0; at < len(order); {
		next := at
		for ; next < len(order) && token(order[next]) == token(order[at]); next++ {
			i := uint32(cores[order[next]])
			s := &c.sessions[i]
			switch {
			case earliest < s.call:
				c.found(TokenFell, first, i)
			case next > at && !c.reentrant:
				c.found(TokenFell, uint32(cores[order[at]]), i)
			case earliest < s.ret && apart:
				s.ret, moved = earliest, true
				cores[order[next]] = uint64(earliest)<<32 | uint64(i)
			}
		}
		for ; at < next; at++ {
			if i := uint32(cores[order[at]]); c.sessions[i].ret < earliest {
				first, earliest = i, c.sessions[i].ret
			}
		}
	}
	return c.tokenOf[holder], holder, moved
}
