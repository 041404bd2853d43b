package proof

// pairs calls f for each two granted sessions that conflict. The first argument is the session that was granted first.
func (x *prover) pairs(f func(s, t *knowledge)) {
	for _, s := range x.known {
		for _, t := range x.known {
			if s.granted >= 0 && s.granted < t.granted && conflicts(s, t) {
				f(s, t)
			}
		}
	}
}

// beliefs finds sessions that conflict and counted on the lock at the same time with good reason.
func (x *prover) beliefs() {
	x.pairs(func(s, t *knowledge) {
		for p := t.granted; p < len(x.h.events); p++ {
			if s.believes(p) && t.believes(p) {
				class := "double-grant"
				if s.hazy || t.hazy {
					class = ""
				}
				x.prove("double grant", class, "%s and %s both believe at %d", s.name, t.name, p)
				return
			}
		}
	})
}

// works finds a session that was granted the lock and may count on it, while another session shows that it still works.
// Whether the other session may count on the lock decides the class.
func (x *prover) works() {
	shown := func(s, t *knowledge) {
		for _, p := range s.signs() {
			if s.granted < p && p < s.claim && t.granted < p && t.believes(p) {
				x.prove("worked on", "", "%s worked at %d, and %s might", s.name, p, t.name)
				return
			}
		}
	}
	x.pairs(func(s, t *knowledge) {
		shown(s, t)
		shown(t, s)
	})
}

// holders finds sessions that conflict and that the server kept at the same time. The time is the later grant, if its
// answer came within its lease.
func (x *prover) holders() {
	x.pairs(func(s, t *knowledge) {
		if p := t.granted; s.certain(p) && t.within(p, slack) {
			what := "two certain holders"
			if s.died >= 0 && s.died > s.granted {
				what = "handed over early"
			}
			x.prove(what, "", "%s held for certain at %d, when %s was granted", s.name, p, t.name)
		}
	})
}

// unheard finds a release with ok after an acquire with unknown outcome, although other sessions certainly held during
// the whole release.
func (x *prover) unheard() {
	for _, c := range x.known {
		if c.acquire.outcome != maybe {
			continue
		}
		for _, o := range c.ops {
			if o.what == "release" && o.outcome == done && x.barred(c, o.call, o.answer) {
				x.prove("released without holding", "", "%s was released between %d and %d, while others held", c.name, o.call, o.answer)
				return
			}
		}
	}
}

// barred reports whether others excluded a session at all times between two positions.
func (x *prover) barred(c *knowledge, from, to int) bool {
	for p := from; p < to; p++ {
		barred := false
		for _, t := range x.known {
			if t == c || !overlap(t.keys, c.keys) || !t.certain(p) || !t.certain(p+1) {
				continue
			}
			barred = barred || conflicts(c, t)
		}
		if !barred {
			return false
		}
	}
	return true
}
