package proof

import (
	"slices"
	"strings"
	"time"
)

// queue finds clients of a fair lock that were served before a client that had been seen waiting
// when they asked.
func (x *prover) queue() {
	if !x.h.header.Claims.Fair {
		return
	}
	for p, e := range x.h.events {
		if e.who != "probe" {
			continue
		}
		name := e.field["queued"]
		for _, w := range x.known {
			if w.name == name && !x.hampered(w) {
				for _, u := range x.known {
					if x.overtakes(u, w, p) {
						x.prove("overtaken", "", "%s was seen waiting at %d, and %s was granted it at %d", w.name, p, u.name, u.granted)
					}
				}
			}
		}
	}
}

// hampered reports whether a fault hit the client of a waiter.
func (x *prover) hampered(w *knowledge) bool {
	return w.died >= 0 || slices.ContainsFunc(x.h.events, func(e event) bool { return e.who == "nemesis" })
}

// overtakes reports whether u, which asked after w was seen waiting, was granted the lock while w
// must still have waited.
func (x *prover) overtakes(u, w *knowledge, seen int) bool {
	enters := slices.ContainsFunc(x.known, func(o *knowledge) bool { return o != u && o.owner == u.owner })
	if u.granted < 0 || u.acquire.call < seen || u.shared || w.shared || enters || !conflicts(u, w) {
		return false
	}
	asked := x.h.events[w.acquire.call]
	switch {
	case w.acquire.outcome == failed:
		// It was in the queue for as long as its call allowed.
		return x.time(u.granted)+slack < asked.time+asked.span("wait")
	case w.acquire.outcome == maybe:
		return false // it may have been served
	}
	// It may have been served first and have got the answer after its lease.
	short := asked.span("ttl") > 0 && x.time(w.granted)-x.time(seen)+slack >= asked.span("ttl")
	return u.granted < w.granted && !short && w.renewed == 0
}

// over returns the position from which a session cannot hold any more, or end.
func (t *knowledge) over() int {
	p := end
	for _, o := range t.ops {
		if o.what == "release" && o.outcome == done {
			p = min(p, o.answer)
		}
	}
	if t.acquire.outcome == failed {
		p = -1 // it never held
	}
	return p
}

// wakes finds a single waiter that slept for a whole lease in a recovery period, although all other
// clients had released the lock. A client that asked for a free lock after a fault had hit it is
// excused, because it may have had no connection.
func (x *prover) wakes() {
	from, to := x.quiet()
	for _, w := range x.known {
		asked := x.h.events[w.acquire.call]
		if from < 0 || w.granted < 0 || asked.span("wait") == 0 || asked.span("ttl") == 0 || w.acquire.call < from || w.granted > to {
			continue
		}
		free := w.acquire.call
		for _, t := range x.known {
			if t != w && overlap(t.keys, w.keys) && t.acquire.call < w.granted && !x.expired(t, w.acquire.call) {
				free = max(free, t.over())
			}
		}
		if free == w.acquire.call && x.struckBefore(w.client, free) {
			continue
		}
		if free < w.granted && x.time(w.granted)-x.time(free) > asked.span("ttl")*95/100 && x.time(w.granted)-x.time(free) > time.Second {
			x.prove("lost wake-up", "", "%s slept from %d to %d", w.name, free, w.granted)
		}
	}
}

// keepConnections are the faults that keep the connections of other clients open, unless they state another effect.
var keepConnections = []string{
	"pause", "isolate", "ring", "cut", "lag", "bandwidth", "drop-replies", "lose-reply", "hold-request", "reset", "busy", "clock", "flush", "evict", "poison",
}

// endsConnections reports whether a fault on a server may end the connections of all its clients. Unknown faults may.
func endsConnections(e event) bool {
	if effect, ok := e.field["effect"]; ok {
		return slices.Contains(strings.Split(effect, ","), "disconnect-all")
	}
	return e.phase == "begins" && !slices.Contains(keepConnections, e.what)
}

// struckBefore reports whether, before a position, a fault hit the client or ended the connections of a server.
func (x *prover) struckBefore(client string, pos int) bool {
	return slices.ContainsFunc(x.h.events[:pos], func(e event) bool {
		ends := endsConnections(e) && !strings.Contains(e.field["targets"], "client-")
		return e.who == "nemesis" && (ends || slices.Contains(strings.Split(e.field["targets"], ","), "client-"+strings.TrimPrefix(client, "c")))
	})
}

// quiet finds the recovery period, or returns -1. A fault that never healed leaves none.
func (x *prover) quiet() (from, to int) {
	from, to = -1, -1
	for p, e := range x.h.events {
		if e.who == "probe" {
			switch e.field["quiet"] {
			case "begins":
				from = p
			case "ends":
				to = p
			}
		}
	}
	if to < 0 || x.unhealed(to) {
		return -1, -1
	}
	return from, to
}

// unhealed reports whether a fault before a position never healed.
func (x *prover) unhealed(pos int) bool {
	for i, e := range x.h.events[:pos] {
		if e.who == "nemesis" && e.phase != "healed" && !slices.ContainsFunc(x.h.events[i:], func(o event) bool {
			return o.who == "nemesis" && o.phase == "healed" && o.what == e.what && o.field["step"] == e.field["step"]
		}) {
			return true
		}
	}
	return false
}

// progress finds a recovery period in which no client was granted a lock that no client can have held.
func (x *prover) progress() {
	from, to := x.quiet()
	if from < 0 {
		return
	}
	refused := map[string][]int{}
	for _, t := range x.known {
		p := t.acquire.answer
		key := t.keys[0]
		switch {
		case len(t.keys) > 1:
			return
		case t.acquire.call > from && t.acquire.outcome == failed && x.h.events[p].error != "taken":
			// The lock was never asked: "bad-request", "unsupported".
		case t.acquire.call > from && t.acquire.outcome == failed && p < to:
			refused[key] = append(refused[key], p)
		case t.acquire.call > from:
			delete(refused, key)
			return // granted, or unknown
		}
	}
	for key, at := range refused {
		free := true
		for _, t := range x.known {
			if t.keys[0] == key && t.over() > from && !x.expired(t, at[0]) {
				free = false
			}
		}
		if free && len(at) > 5 && x.time(at[len(at)-1])-x.time(at[0]) > time.Second {
			x.prove("no progress", "", "%q refused %d times", key, len(at))
		}
	}
}

// expired reports whether the lease of a session ended well before a position. An owner that enters
// again may move the end of its whole lease, both when it enters and when it releases.
func (x *prover) expired(t *knowledge, p int) bool {
	return !slices.ContainsFunc(x.known, func(u *knowledge) bool {
		return u.owner == t.owner && u.keys[0] == t.keys[0] && u.acquire.outcome != failed && u.acquire.call < p && !x.ranOut(u, p)
	})
}

// ranOut reports whether the requested lease of a session ended well before a position. A fault may delay a
// request with unknown outcome until long after its client gave up, and a library may renew a lease for longer
// than the session says.
func (x *prover) ranOut(t *knowledge, p int) bool {
	struck := slices.ContainsFunc(x.h.events[:p], func(e event) bool { return e.who == "nemesis" })
	unclear := func(o op) bool { return o.answer < 0 || o.outcome == maybe && struck }
	if t.ttl == 0 || t.renewed > 0 || unclear(t.acquire) {
		return false
	}
	latest := x.time(t.acquire.answer) + t.ttl
	for _, o := range t.ops {
		switch {
		case o.what != "renew" && o.what != "release":
		case unclear(o):
			return false
		case o.what == "renew":
			latest = max(latest, x.time(o.answer)+x.h.events[o.call].span("ttl"))
		default:
			latest = max(latest, x.time(o.answer)+t.ttl)
		}
	}
	moved := slices.ContainsFunc(x.h.events[:p], func(e event) bool { return e.field["clock_step_ns"] != "" && e.time <= latest })
	return !moved && x.time(p) > latest+2*time.Second
}
