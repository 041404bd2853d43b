package sweep

// session is one attempt and what became of it. Positions that there are not are Never.
type session struct {
	call, ret uint32 // of the acquire; ret is Never unless it was ok or refused strictly
	// end is the earliest position at which the hold may have ended: of a release
	// that was ok its call, else the call of the first one of unknown outcome.
	end uint32
	// last is where the hold must have ended: at the return of a release that was ok,
	// or of one that was told "not held".
	last uint32
	// notHeld is the earliest return of a release that was told so, notHeldCall the
	// earliest call and notHeldLast the latest return of one.
	notHeld, notHeldCall, notHeldLast uint32
	state                             answer
	shared                            bool
	released                          bool // with ok
}

// answer is what is known of an acquire.
type answer uint8

const (
	lost    answer = iota // refused, and nothing follows from it
	refused               // refused, and so it was held at some moment
	granted
	unknown
)

// less is 1 if a is less than b, and else 0. Whom a lock lets in next is anybody's
// guess, the processor's as well, so that a branch would cost more.
func less(a, b uint32) int { return int((uint64(a) - uint64(b)) >> 63) }

// read builds the sessions of a lock out of its operations, and sorts the cores.
func (c *Checker) read(o *Ops) {
	sessions, cores, denied := c.sessions[:0], c.cores[:0], c.denied[:0]
	c.refused, c.unsure, c.unknowns, c.special = c.refused[:0], c.unsure[:0], 0, false
	ends, counted := c.ends[:0], !c.single
	c.doubtful = false
	before, shifts := uint32(0), 0 // of the cores
	// The lengths are told to the compiler once, not at each access.
	n := len(o.Call)
	call, ret, of, kind, out := o.Call[:n], o.Ret[:n], o.Session[:n], o.Kind[:n], o.Out[:n]
	for i := range call {
		if kind[i] != Release {
			sessions = append(sessions, session{call: call[i], ret: Never, end: Never, last: Never, notHeld: Never, notHeldCall: Never, shared: kind[i] == AcquireShared})
			s := &sessions[len(sessions)-1]
			switch out[i] {
			case OK:
				s.state, s.ret = granted, ret[i]
				shifts += less(ret[i], before)
				before = max(before, ret[i])
				cores = append(cores, uint64(ret[i])<<32|uint64(len(sessions)-1))
			case StrictFail:
				s.state, s.ret = refused, ret[i]
				c.refused = append(c.refused, of[i])
			case Unknown:
				s.state = unknown
				c.unknowns++
			}
			continue
		}
		s := &sessions[of[i]]
		if counted && s.state == granted {
			ends = append(ends, uint64(call[i])<<32|uint64(of[i]))
			c.doubtful = c.doubtful || s.end != Never || out[i] > OK
		}
		switch out[i] {
		case OK:
			if s.released {
				c.found(ReleasedTwice, of[i], None)
				continue
			}
			if s.state <= refused {
				c.found(ReleasedWithoutHolding, of[i], None)
				continue
			}
			// Any earlier release of unknown outcome did not end the hold, since this one did.
			s.released, s.end, s.last = true, call[i], ret[i]
			if s.state == unknown {
				c.unsure = append(c.unsure, of[i])
				c.unknowns--
			}
		case Unknown:
			if !s.released {
				s.end = min(s.end, call[i])
			}
		default:
			if s.notHeld == Never {
				denied = append(denied, of[i])
			}
			s.notHeld = min(s.notHeld, ret[i])
			s.notHeldCall = min(s.notHeldCall, call[i])
			s.notHeldLast = max(s.notHeldLast, ret[i])
		}
	}
	c.sessions, c.cores, c.denied, c.ends = sessions, cores, denied, ends
	for _, i := range denied {
		switch s := &sessions[i]; s.state {
		case granted:
			c.refusedRelease(s, i)
		case unknown:
			c.special = true
		}
	}
	if shifts > 0 {
		c.sort(c.cores, shifts)
	}
}

// refusedRelease judges "not held", said to a session that was granted. It must have
// been released by then, and only a release whose outcome was not told can have done
// that:
//
//	acquire ok   release ...(no answer)   release: not held      fine, the first one did it
//	acquire ok   release: not held                               evicted
//
// A session that was evicted holds no longer than to its own call, because its client
// counts on nothing after it. That the answer is wrong is said once.
func (c *Checker) refusedRelease(s *session, i uint32) {
	if s.end < s.notHeld {
		s.last = min(s.last, s.notHeld)
		return
	}
	c.found(Evicted, i, None)
	s.end, s.last = min(s.end, s.notHeldCall), min(s.last, s.notHeld)
}

// core is the session of a packed core.
func (c *Checker) core(i int) *session { return &c.sessions[uint32(c.cores[i])] }

// mutex checks that the cores are apart, that tokens grow along them, and that what
// was answered to others fits in between.
func (c *Checker) mutex(o *Ops) {
	apart := true
	far, furthest := uint32(0), uint32(None)
	for _, packed := range c.cores {
		i := uint32(packed)
		s := &c.sessions[i]
		// With the furthest end, not with the left neighbour's: of A[0,100] B[10,20]
		// C[30,40] both B and C meet A.
		if s.ret < far {
			c.found(TwoHolders, furthest, i)
			apart = false
		}
		if s.end > far {
			far, furthest = s.end, i
		}
	}
	if c.fenced {
		c.tokens(o)
	}
	if !apart {
		c.merge()
	}
	if len(c.refused) == 0 && len(c.unsure) == 0 {
		return
	}
	c.between(apart)
}

// merge joins cores that collide to blocks. There is no order of the operations any
// more that explains the history, but refusals and releases inside a block are
// explained well enough by the collision that was found.
func (c *Checker) merge() {
	out := c.cores[:0]
	for _, packed := range c.cores {
		s := &c.sessions[uint32(packed)]
		if n := len(out); n > 0 {
			if left := &c.sessions[uint32(out[n-1])]; s.ret < left.end {
				left.end, left.last, left.call = max(left.end, s.end), max(left.last, s.last), min(left.call, s.call)
				continue
			}
		}
		out = append(out, packed)
	}
	c.cores = out
}

// tokens checks that they grow from core to core.
func (c *Checker) tokens(o *Ops) {
	if len(o.Aux) == 0 {
		return
	}
	c.tokensOf(o)
	highest, holder := int64(-1<<63), uint32(None)
	for _, packed := range c.cores {
		i := uint32(packed)
		token := c.tokenOf[i]
		if holder != None && token <= highest {
			c.found(TokenFell, holder, i)
			highest, holder = token, i // those after it are compared with each other
			continue
		}
		highest, holder = max(highest, token), i
	}
}

// tokensOf collects the tokens of the acquires, which stand in the order of sessions: both
// are in the order of calls.
func (c *Checker) tokensOf(o *Ops) {
	tokens := c.tokenOf[:0]
	for i, k := range o.Kind {
		if k != Release {
			tokens = append(tokens, o.Aux[i])
		}
	}
	c.tokenOf = tokens
}
