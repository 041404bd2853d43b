package proof

import (
	"slices"
	"strings"
	"time"
)

// queue: of a lock that claims to be fair, a client was served that had asked after
// another was seen waiting.
func (x *prover) queue() {
	if !x.h.header.Claims.Fair {
		return
	}
	for p, e := range x.h.events {
		if e.who != "probe" {
			continue
		}
		name := e.field["queued"]
		for _, w := range x.tenures {
			if w.name == name && !x.hampered(w) {
				for _, u := range x.tenures {
					if x.overtakes(u, w, p) {
						x.prove("overtaken", "", "%s was seen waiting at %d, and %s was granted it at %d", w.name, p, u.name, u.granted)
					}
				}
			}
		}
	}
}

// hampered tells whether something befell the client of a waiter.
func (x *prover) hampered(w *tenure) bool {
	return w.died >= 0 || slices.ContainsFunc(x.h.events, func(e event) bool { return e.who == "nemesis" })
}

// overtakes tells whether u, who asked after w was seen waiting, was granted the lock
// while w must still have waited.
func (x *prover) overtakes(u, w *tenure, seen int) bool {
	enters := slices.ContainsFunc(x.tenures, func(o *tenure) bool { return o != u && o.owner == u.owner })
	if u.granted < 0 || u.acquire.call < seen || u.shared || w.shared || enters || !conflicts(u, w) {
		return false
	}
	asked := x.h.events[w.acquire.call]
	switch {
	case w.acquire.outcome == failed:
		// It stood in the queue for as long as it was ready to wait.
		return x.time(u.granted)+slack < asked.time+asked.span("wait")
	case w.acquire.outcome == maybe:
		return false // it may have been served
	}
	// It may have been served first and have heard of it late, if its lease is over.
	short := asked.span("ttl") > 0 && x.time(w.granted)-x.time(seen)+slack >= asked.span("ttl")
	return u.granted < w.granted && !short && w.renewed == 0
}

// over is the position at which a session can hold no more, or end.
func (t *tenure) over() int {
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

// wakes: in a quiet stretch the only waiter slept for the whole of a lease, though
// everybody else had given the lock back. Who comes to a free lock, and was struck before, may
// have had no connection.
func (x *prover) wakes() {
	from, to := x.quiet()
	for _, w := range x.tenures {
		asked := x.h.events[w.acquire.call]
		if from < 0 || w.granted < 0 || asked.span("wait") == 0 || asked.span("ttl") == 0 || w.acquire.call < from || w.granted > to {
			continue
		}
		free := w.acquire.call
		for _, t := range x.tenures {
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

// keepConnections are the faults that leave the connections of other clients open, where they state no effect.
var keepConnections = []string{
	"pause", "isolate", "ring", "cut", "lag", "bandwidth", "drop-replies", "lose-reply", "hold-request", "reset", "busy", "clock", "flush", "evict", "poison",
}

// endsConnections tells whether a fault on a server may end the connections of all its clients. One that is not known may.
func endsConnections(e event) bool {
	if effect, ok := e.field["effect"]; ok {
		return slices.Contains(strings.Split(effect, ","), "disconnect-all")
	}
	return e.phase == "begins" && !slices.Contains(keepConnections, e.what)
}

// struckBefore tells whether a fault has named a client by a position, or ended the connections of a server.
func (x *prover) struckBefore(client string, pos int) bool {
	return slices.ContainsFunc(x.h.events[:pos], func(e event) bool {
		ends := endsConnections(e) && !strings.Contains(e.field["targets"], "client-")
		return e.who == "nemesis" && (ends || slices.Contains(strings.Split(e.field["targets"], ","), "client-"+strings.TrimPrefix(client, "c")))
	})
}

// quiet finds the quiet stretch, or -1.
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
	if to < 0 {
		return -1, -1
	}
	return from, to
}

// progress: in a quiet stretch no client was granted a lock that none can hold.
func (x *prover) progress() {
	from, to := x.quiet()
	if from < 0 {
		return
	}
	refused := map[string][]int{}
	for _, t := range x.tenures {
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
		for _, t := range x.tenures {
			if t.keys[0] == key && t.over() > from && !x.expired(t, at[0]) {
				free = false
			}
		}
		if free && len(at) > 5 && x.time(at[len(at)-1])-x.time(at[0]) > time.Second {
			x.prove("no progress", "", "%q refused %d times", key, len(at))
		}
	}
}

// expired tells whether the lease of a tenure is over by a position, by far. An owner that enters
// again may move the end of its whole lease, when it enters and when it releases.
func (x *prover) expired(t *tenure, p int) bool {
	return !slices.ContainsFunc(x.tenures, func(u *tenure) bool {
		return u.owner == t.owner && u.keys[0] == t.keys[0] && u.acquire.outcome != failed && u.acquire.call < p && !x.ranOut(u, p)
	})
}

// ranOut tells whether what a tenure asked for is over by a position, by far. A request of unknown outcome
// may have arrived long after its client gave up, if a fault held it up; and a library renews for longer
// than the session says.
func (x *prover) ranOut(t *tenure, p int) bool {
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
