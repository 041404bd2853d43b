package proof

import (
	"slices"
	"time"
)

// answers finds answers to one session that contradict each other.
func (x *prover) answers() {
	for _, t := range x.known {
		var freed, denied []op // releases with ok; operations that were answered "not held"
		for _, o := range t.ops {
			switch {
			case o.what == "release" && o.outcome == done:
				freed = append(freed, o)
			case o.outcome == failed && x.h.events[o.answer].error == "not-held":
				denied = append(denied, o)
			}
		}
		if len(freed) > 1 && x.alone(t) {
			x.prove("released twice", "", "%s", t.name)
		}
		for _, o := range t.ops {
			// A service that counts by owner may refer to another session of the owner.
			if o.what == "renew" && o.outcome == done && t.owner == t.name && slices.ContainsFunc(freed, func(f op) bool { return f.answer < o.call }) {
				x.prove("renewed without holding", "", "%s was renewed at %d after its release", t.name, o.answer)
			}
		}
		if t.granted < 0 || x.cleaned(t) {
			continue
		}
		for _, no := range denied {
			for _, o := range t.ops {
				if (o.what == "release" || o.what == "renew") && o.outcome == done && o.call > no.answer && t.owner == t.name {
					x.prove("not held and then held", "", "%s was told at %d that it does not hold, and at %d that it did", t.name, no.answer, o.answer)
				}
			}
			if x.evicts(t, no) {
				x.prove("evicted", "", "%s was told at %d that it does not hold", t.name, no.answer)
			}
		}
	}
}

// cleaned reports whether a service that counts by owner may have taken the release of another session of the owner for
// the release of this session.
func (x *prover) cleaned(t *knowledge) bool {
	return slices.ContainsFunc(x.known, func(o *knowledge) bool {
		return o != t && o.owner == t.owner && o.acquire.outcome == maybe && overlap(o.keys, t.keys) &&
			slices.ContainsFunc(o.ops, func(op op) bool { return op.what == "release" && op.outcome != failed })
	})
}

// evicts reports whether the answer "not held" is wrong because nothing can have ended the hold.
func (x *prover) evicts(t *knowledge, no op) bool {
	first := never // the call of the first release, which ends renewals
	for _, o := range t.ops {
		if o.what == "release" && o.call < no.answer {
			first = min(first, x.time(o.call))
			if o != no && o.outcome != failed {
				return false
			}
			if o != no && o.answer > no.answer {
				return false // not refused yet
			}
		}
	}
	if t.lost >= 0 && t.lost < no.answer || slices.ContainsFunc(t.ops, func(o op) bool {
		return o.what == "check" && o.outcome == failed && o.call < no.answer
	}) {
		return false // the library may have released the lock
	}
	if x.h.header.Claims.Session && x.faulty(no.answer) {
		return false // the hold may have ended with the connection
	}
	if t.renewed > 0 && first != never && x.time(no.answer)-first > t.renewed/2 {
		return false
	}
	return t.within(no.answer, slack)
}

// tokens finds tokens that do not grow from one holder to the next.
func (x *prover) tokens() {
	if !x.is("fenced") {
		return
	}
	x.pairs(func(s, t *knowledge) {
		older, newer := x.h.events[s.granted].number("token"), x.h.events[t.granted].number("token")
		exclusive := !s.shared && !t.shared
		switch {
		case !exclusive:
		case newer == older:
			x.prove("token repeated", "", "%s and %s have token %d", s.name, t.name, newer)
		case newer < older && s.granted < t.acquire.call,
			newer < older && s.within(s.granted, slack) && t.within(t.granted, slack) && s.renewed == 0 && t.renewed == 0:
			x.prove("token fell", "", "from %d (%s) to %d (%s)", older, s.name, newer, t.name)
		}
	})
}

// refusals finds strict refusals of one key at a time at which no session can have held it.
func (x *prover) refusals() {
	for _, t := range x.known {
		if t.acquire.outcome != failed || len(t.keys) != 1 || !x.h.events[t.acquire.answer].has("strict") || x.faulty(t.acquire.answer) {
			continue
		}
		held := false
		for _, s := range x.known {
			if s == t || !overlap(s.keys, t.keys) || !x.may(s, t.acquire.call, t.acquire.answer) {
				continue
			}
			held = held || x.bars(s, t)
		}
		if !held {
			x.prove("refused though free", "", "%s at %d", t.name, t.acquire.answer)
		}
	}
}

// bars reports whether the hold of one session is a reason to refuse another session. A lock that is not reentrant also
// refuses the same owner, and a read hold excludes a writer of the same owner.
func (x *prover) bars(s, t *knowledge) bool {
	if s.owner == t.owner && x.is("reentrant") {
		return s.shared && !t.shared
	}
	return !s.shared || !t.shared
}

// faulty reports whether a fault hit a server or a link before a position.
func (x *prover) faulty(p int) bool {
	return slices.ContainsFunc(x.h.events[:p], func(e event) bool {
		return e.who == "nemesis" && e.what != "pause"
	})
}

// may reports whether a session can have held at some time between two positions. Only an answer shows that it did not,
// because a server may keep a lease for longer.
func (x *prover) may(s *knowledge, from, to int) bool {
	if s.acquire.outcome == failed || s.acquire.call > to {
		return false
	}
	for _, o := range s.ops {
		if o.what != "release" || o.outcome == maybe {
			continue
		}
		over := o.outcome == done || s.granted >= 0 && x.h.events[o.answer].error == "not-held"
		if over && o.answer < from {
			return false
		}
		// No client got an answer to the acquire, and the release found no hold
		// within the lease that it would have had, so there was none before.
		if s.acquire.outcome == maybe && o.outcome == failed && o.call > to && x.unborn(s, o) {
			return false
		}
	}
	return true
}

// unborn reports whether a refused release shows that the acquire had not taken effect by then.
func (x *prover) unborn(s *knowledge, no op) bool {
	if x.h.events[no.answer].error != "not-held" || x.h.header.Claims.Renewed || s.died >= 0 {
		return false
	}
	for _, o := range s.ops {
		if o.what == "release" && o.call < no.answer && o != no {
			return false
		}
	}
	return s.ttl == 0 || x.time(no.answer)+slack < x.time(s.acquire.call)+s.ttl
}

// counters finds lost updates. Every write is the value read before plus one, so no value is written twice while the lock
// keeps its promise.
func (x *prover) counters() {
	type written struct {
		resource, key string
		value         int64
	}
	seen := map[written]string{}
	type taken struct {
		at    int
		token int64
		owner string
	}
	accepted := map[string][]taken{} // by resource that checks tokens
	for _, t := range x.known {
		for _, o := range t.ops {
			if o.what != "write" || o.outcome != done {
				continue
			}
			e := x.h.events[o.call]
			if !x.counts(t, o) {
				return
			}
			w := written{e.field["resource"], t.keys[0], e.number("value")}
			if other := seen[w]; other != "" {
				x.prove("written twice", "", "%d by %s and %s", e.number("value"), other, t.name)
			}
			seen[w] = t.name
			if e.field["resource"] == "fenced" && e.has("token") {
				accepted[w.key] = append(accepted[w.key], taken{o.answer, e.number("token"), t.owner})
			}
		}
	}
	for key, all := range accepted {
		for _, late := range all {
			for _, early := range all {
				if early.at < late.at && early.token > late.token && early.owner != late.owner {
					x.prove("old token accepted", "", "%d after %d by the resource of %q", late.token, early.token, key)
				}
			}
		}
	}
}

// stale finds writes that came after the write of a session that requested the lock when the writer already had it. A
// resource that checks tokens refuses older tokens.
func (x *prover) stale() {
	x.pairs(func(s, t *knowledge) {
		if !x.alone(s) { // the owner may have another session
			return
		}
		if s.granted > t.acquire.call || s.shared || t.shared || s.keys[0] != t.keys[0] {
			return
		}
		for _, late := range s.ops {
			for _, early := range t.ops {
				if late.what == "write" && early.what == "write" && late.outcome == done && early.outcome == done && early.answer < late.answer &&
					x.h.events[late.call].field["resource"] == x.h.events[early.call].field["resource"] && x.counts(s, late) && x.counts(t, early) {
					x.prove("stale write", "", "%s wrote at %d, %s before at %d", s.name, late.answer, t.name, early.answer)
					return
				}
			}
		}
	})
}

// counts reports whether the value of a write is the last read of the session plus one. Otherwise the resource is not a
// counter.
func (x *prover) counts(t *knowledge, write op) bool {
	read := int64(-2)
	for _, o := range t.ops {
		if o.what == "read" && o.outcome == done && o.answer < write.call {
			read = x.h.events[o.answer].number("value")
		}
	}
	e := x.h.events[write.call]
	return e.has("value") && e.number("value") == read+1
}

// probes finds leases of which the server itself reports that it keeps them too short or too long.
func (x *prover) probes() {
	for p, e := range x.h.events {
		if e.who != "probe" {
			continue
		}
		name, left, ok := e.field["session"], e.span("ttl"), e.has("ttl")
		if name == "" || !ok || x.faulty(p) {
			continue
		}
		for _, t := range x.known {
			moving := slices.ContainsFunc(t.ops, func(o op) bool {
				return o.what == "renew" && o.call < p && (o.answer < 0 || o.answer > p)
			})
			if t.name != name || p > t.notice || t.died >= 0 && p > t.died || !t.certain(p) || !t.within(p, slack) || t.ttl == 0 || moving {
				continue
			}
			if until := t.leaseEnd(p); e.time+left+slack < until {
				x.prove("lease short", "", "%s counts on it until %s, the server keeps it until %s", name, until, e.time+left)
			}
			if left > 2*x.longest()+time.Second {
				x.prove("lease long", "", "%s is kept for %s", name, left)
			}
		}
	}
}

// longest returns the longest lease that any client requested.
func (x *prover) longest() time.Duration {
	var longest time.Duration
	for _, e := range x.h.events {
		if e.what == "acquire" || e.what == "renew" {
			longest = max(longest, e.span("ttl"))
		}
	}
	return longest
}
