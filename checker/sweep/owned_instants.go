package sweep

import "slices"

// instants looks for one for each unsure session, between its release's call and return,
// at which it is compatible with the cores that are open. Inside a core of its own owner is
// one, unless others read there and it writes.
func (c *Checker) instants() {
	if c.quick() {
		return
	}
	k := &c.counts
	ends := c.ends[:0]
	for _, packed := range c.cores {
		if end := c.sessions[uint32(packed)].end; end != Never {
			ends = append(ends, uint64(end)<<32|uint64(uint32(packed)))
		}
	}
	slices.Sort(ends)
	c.ends = ends
	k.waiting = k.waiting[:0] // who finds none
	// Those in the way of readers are writers; in the way of writers is everybody.
	way := [2]crossing{newCrossing(len(c.families)), newCrossing(len(c.families))}
	cores, later := c.cores, k.later
	for {
		core, end, release := front(cores), front(ends), front(later)
		next := min(core, end, release)
		if next == nothing {
			break
		}
		i, now := uint32(next), uint32(next>>32)
		owner, reads := c.owners[i], c.sessions[i].shared
		switch next {
		case core:
			cores = cores[1:]
			way[exclusive].come(owner)
			if !reads {
				way[shared].come(owner)
			}
		case end:
			ends = ends[1:]
			way[exclusive].gone(owner)
			c.settle(&way[exclusive], now)
			if !reads {
				way[shared].gone(owner)
				c.settle(&way[shared], now)
			}
		default:
			later = later[1:]
			mode := exclusive
			if reads {
				mode = shared
			}
			way[mode].wait(owner, i)
			c.settle(&way[mode], now)
		}
	}
	for mode := range way {
		for owner := range way[mode].waiting {
			c.leave(&way[mode], owner, Never)
		}
	}
	slices.Sort(k.waiting) // they come out of a map
	for _, i := range k.waiting {
		c.found(ReleasedWithoutHolding, i, None)
		// Told; it need not be fitted in any more.
		c.sessions[i].state = lost
	}
}

// quick leaves those that do not find their instant when their release is called, and
// tells whether there are none.
func (c *Checker) quick() bool {
	k := &c.counts
	k.later = k.later[:0]
	var all reach
	at := 0
	for _, i := range c.unsure {
		// They come in the order of the calls of their releases.
		now := c.sessions[i].end
		for ; at < len(c.cores) && uint32(c.cores[at]>>32) < now; at++ {
			other := uint32(c.cores[at])
			all.add(c.owners[other], other, c.sessions[other].end)
		}
		if end, _ := all.beyond(c.owners[i]); end > now {
			k.later = append(k.later, uint64(now)<<32|uint64(i))
		}
	}
	return len(k.later) == 0
}

// crossing is who is in the way of readers, or of writers, and who of these waits.
type crossing struct {
	open    []int32 // by owner: how many of its cores
	owners  int     // so many have some
	only    uint32  // who, if it is one
	waiting map[uint32][]uint32
}

func newCrossing(owners int) crossing {
	return crossing{open: make([]int32, owners), waiting: map[uint32][]uint32{}}
}

func (w *crossing) come(owner uint32) {
	if w.open[owner]++; w.open[owner] == 1 {
		w.owners++
		w.only ^= owner
	}
}

func (w *crossing) gone(owner uint32) {
	if w.open[owner]--; w.open[owner] == 0 {
		w.owners--
		w.only ^= owner
	}
}

func (w *crossing) wait(owner, session uint32) {
	w.waiting[owner] = append(w.waiting[owner], session)
}

// settle lets those go who find their instant now, unless their release had returned by
// then: all of them if nobody is in the way, else those of the owner who alone is.
func (c *Checker) settle(w *crossing, now uint32) {
	switch w.owners {
	case 0:
		for owner := range w.waiting {
			c.leave(w, owner, now)
		}
	case 1:
		c.leave(w, w.only, now)
	}
}

// leave takes those of an owner out.
func (c *Checker) leave(w *crossing, owner, now uint32) {
	for _, i := range w.waiting[owner] {
		if c.sessions[i].last <= now {
			c.counts.waiting = append(c.counts.waiting, i)
		}
	}
	delete(w.waiting, owner)
}

func front(packed []uint64) uint64 {
	if len(packed) == 0 {
		return nothing
	}
	return packed[0]
}
