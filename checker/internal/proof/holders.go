package proof

import "slices"

// pairs calls f for each two sessions that conflict and were granted, the one granted
// first as the first.
func (x *prover) pairs(f func(s, t *tenure)) {
	for _, s := range x.tenures {
		for _, t := range x.tenures {
			if s.granted >= 0 && s.granted < t.granted && conflicts(s, t) {
				f(s, t)
			}
		}
	}
}

// beliefs: two that conflict counted on the lock at the same time, and each of them might.
func (x *prover) beliefs() {
	x.pairs(func(s, t *tenure) {
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

// works: one that was granted it, and may still count on it, and another that shows that
// it goes on. Whether that one might as well is a matter of the class.
func (x *prover) works() {
	shown := func(s, t *tenure) {
		for _, p := range s.signs() {
			if s.granted < p && p < s.claim && t.granted < p && t.believes(p) {
				x.prove("worked on", "", "%s worked at %d, and %s might", s.name, p, t.name)
				return
			}
		}
	}
	x.pairs(func(s, t *tenure) {
		shown(s, t)
		shown(t, s)
	})
}

// holders: two that conflict were both kept by the server. The moment is the later
// grant, if it was answered within its lease.
func (x *prover) holders() {
	x.pairs(func(s, t *tenure) {
		if p := t.granted; s.certain(p) && t.within(p, slack) {
			what := "two certain holders"
			if s.died >= 0 && s.died > s.granted {
				what = "handed over early"
			}
			x.prove(what, "", "%s held for certain at %d, when %s was granted", s.name, p, t.name)
		}
	})
}

// permits: more were counted on at one moment than there are.
func (x *prover) permits() {
	for p := range x.h.events {
		for _, key := range x.keys() {
			left := x.h.header.Permits
			for _, t := range x.tenures {
				if !slices.Contains(t.keys, key) {
					continue
				}
				if t.believes(p) && !t.hazy {
					left = max(left-t.permits, -1)
				}
			}
			if left < 0 {
				x.prove("too many permits", "double-grant", "more of %q are believed in at %d", key, p)
				return
			}
		}
	}
}

// keys are all that were asked for.
func (x *prover) keys() []string {
	var keys []string
	for _, t := range x.tenures {
		keys = append(keys, t.keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// unheard: a session whose grant no client heard of is said to have been
// released, though others held for certain as long as the release took.
func (x *prover) unheard() {
	for _, c := range x.tenures {
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

// barred tells whether others kept a session out at each moment between two positions.
func (x *prover) barred(c *tenure, from, to int) bool {
	for p := from; p < to; p++ {
		barred := false
		for _, t := range x.tenures {
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
