package sweep

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// linearizable asks the definition: is there an order of the operations, each between
// its call and its return, in which the lock could have answered like that? It tries
// all, and shares nothing with what it is compared to.
func linearizable(m Model, o *Ops) bool {
	t := tries{m: m, o: o, dead: map[string]bool{}}
	return t.from(0, held{by: map[uint32]int64{}, last: -1 << 62})
}

type tries struct {
	m    Model
	o    *Ops
	dead map[string]bool
}

// held is the state of a lock.
type held struct {
	by        map[uint32]int64 // how deep, or how many permits; writers negative
	last, cur int64            // highest token; that of the hold, if known
	known     bool
}

func (h held) with(s uint32, n int64) held {
	by := map[uint32]int64{}
	for k, v := range h.by {
		by[k] = v
	}
	if n == 0 {
		delete(by, s)
	} else {
		by[s] = n
	}
	h.by = by
	return h
}

func (t tries) from(done uint, h held) bool {
	key := fmt.Sprint(done, h.by, h.last, h.cur, h.known)
	if t.dead[key] {
		return false
	}
	first := uint32(Never) // what must be done before this return
	left := false
	for i := range t.o.Call {
		if done&(1<<i) == 0 && t.o.Out[i] != Unknown {
			first, left = min(first, t.o.Ret[i]), true
		}
	}
	if !left {
		return true
	}
	for i := range t.o.Call {
		if done&(1<<i) != 0 || t.o.Call[i] > first {
			continue
		}
		next, ok := t.apply(i, h)
		if ok && t.from(done|1<<i, next) {
			return true
		}
	}
	t.dead[key] = true
	return false
}

// apply is the sequential model.
func (t tries) apply(i int, h held) (held, bool) {
	s, out := t.o.Session[i], t.o.Out[i]
	n := h.by[s]
	if t.o.Kind[i] == Release {
		switch out {
		case OK, Unknown:
			if n == 0 {
				return h, out == Unknown
			}
			left := int64(0)
			if t.m.Reentrant {
				left = n - 1
			}
			if left == 0 {
				h.known = false
			}
			return h.with(s, left), true
		default:
			return h, n == 0
		}
	}
	next, ok := t.acquire(i, s, n, h)
	switch out {
	case OK:
		return next, ok
	case StrictFail:
		return h, !ok
	case Fail:
		return h, true
	}
	if !ok {
		return h, true
	}
	next.last, next.known = h.last, false
	return next, true
}

func (t tries) acquire(i int, s uint32, n int64, h held) (held, bool) {
	sum, writers := int64(0), 0
	for _, v := range h.by {
		sum += v
		if v < 0 {
			writers++
		}
	}
	switch t.m.Shape {
	case Semaphore:
		return h.with(s, t.o.Aux[i]), t.o.Aux[i] <= t.m.Permits-sum
	case RW:
		if t.o.Kind[i] == AcquireShared {
			return h.with(s, 1), writers == 0
		}
		return h.with(s, -1), len(h.by) == 0
	}
	next := h.with(s, n+1)
	if t.m.Fenced && t.o.Out[i] == OK {
		token := t.o.Aux[i]
		next.cur, next.last, next.known = token, token, true
		if n > 0 && h.known {
			return next, token >= h.cur
		}
		return next, (len(h.by) == 0 || n > 0) && token > h.last
	}
	return next, len(h.by) == 0 || t.m.Reentrant && n > 0
}

// shapes of random histories.
type drawing struct {
	clients, ops int
	unknown      int // one in so many
	try          int // one in so many acquires is refused
	strict       bool
	lie          int   // one in so many answers is drawn blindly; else the lock is simulated
	most         int64 // permits of a semaphore that one may take
}

// random lets clients use a lock that works, most of the time, and writes down what
// they are answered.
func random(r *rand.Rand, m Model, d drawing) *Ops {
	type client struct {
		session uint32
		has     bool // an acquire is open, done or unknown
		open    int  // operation under way, or -1
		over    bool // no more acquires by this session
		depth   int
		done    bool // what is under way has taken effect
		went    bool
	}
	o := &Ops{}
	clients := make([]client, d.clients)
	for i := range clients {
		clients[i].open = -1
	}
	h := held{by: map[uint32]int64{}, last: 0}
	t := tries{m: m, o: o}
	pos, sessions := uint32(0), uint32(0)
	effect := func(c *client) {
		if c.done {
			return
		}
		c.done = true
		// As if it were ok: does it work now?
		was := o.Out[c.open]
		o.Out[c.open] = OK
		if m.Fenced && o.Kind[c.open] == Acquire {
			o.Aux[c.open] = h.last + 1
		}
		var next held
		if next, c.went = t.apply(c.open, h); c.went {
			h = next
		}
		o.Out[c.open] = was
	}
	for len(o.Call) < d.ops || anyOpen(len(clients), func(i int) bool { return clients[i].open >= 0 }) {
		c := &clients[r.IntN(len(clients))]
		if c.open >= 0 {
			if !c.done && r.IntN(3) > 0 {
				effect(c)
				continue
			}
			i := c.open
			out := Out(Unknown)
			if r.IntN(d.unknown) > 0 {
				effect(c)
				switch {
				case c.went:
					out = OK
				case d.strict && o.Kind[i] != Release && r.IntN(2) == 0:
					out = StrictFail
				default:
					out = Fail
				}
				if r.IntN(d.lie) == 0 {
					out = Out(1 + r.IntN(2))
					if o.Kind[i] != Release && out == Fail && d.strict {
						out = StrictFail
					}
				}
			} else if r.IntN(2) == 0 {
				effect(c)
			}
			o.Out[i] = out
			if out != Unknown {
				o.Ret[i] = pos
				pos++
			}
			c.open, c.done = -1, false
			switch {
			case out == Unknown:
				c.over = true
			case o.Kind[i] == Release:
				c.depth--
			case out == OK:
				c.depth++
			case c.depth == 0:
				c.has = m.Reentrant
			}
			if m.Fenced && o.Kind[i] == Acquire && r.IntN(d.lie*2) == 0 {
				o.Aux[i] += int64(r.IntN(3) - 1)
			}
			continue
		}
		if len(o.Call) >= d.ops {
			continue
		}
		k := Kind(Release)
		fresh := !c.has || (c.over || !m.Reentrant && c.depth <= 0) && r.IntN(2) == 0
		if fresh {
			*c = client{session: sessions, has: true, open: -1}
			sessions++
			k = Acquire
		} else if m.Reentrant && !c.over && (c.depth <= 0 || r.IntN(3) == 0) {
			k = Acquire
			c.depth = max(0, c.depth)
		}
		aux := int64(0)
		if k == Acquire {
			if m.Shape == RW && r.IntN(2) == 0 {
				k = AcquireShared
			}
			if m.Shape == Semaphore {
				aux = 1 + r.Int64N(d.most)
			}
		}
		c.open = len(o.Call)
		o.Add(pos, Never, c.session, k, Unknown, aux)
		pos++
	}
	return o
}

func anyOpen(n int, open func(int) bool) bool {
	for i := range n {
		if open(i) {
			return true
		}
	}
	return false
}

// drawn writes a history for whoever has to find out why a test failed.
func drawn(o *Ops) string {
	var b strings.Builder
	for i := range o.Call {
		ret := "-"
		if o.Ret[i] != Never {
			ret = fmt.Sprint(o.Ret[i])
		}
		fmt.Fprintf(&b, "[%d,%s] session %d %s %s %d\n", o.Call[i], ret, o.Session[i],
			[...]string{"acquire", "acquire-shared", "release"}[o.Kind[i]], [...]string{"unknown", "ok", "fail", "strict-fail"}[o.Out[i]], o.Aux[i])
	}
	return b.String()
}
