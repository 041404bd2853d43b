package sweep

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
)

// linearizable implements the definition: it searches for an order of the operations, each between its call and its return, in
// which the lock could have given these answers. It tries all orders, and shares no code with the package.
func linearizable(m Model, o *Ops) bool {
	t := tries{m: m, o: o, dead: map[string]bool{}}
	return t.from(0, held{by: map[uint32]mode{}})
}

type tries struct {
	m    Model
	o    *Ops
	dead map[string]bool
}

// held is the state of a lock.
type held struct{ by map[uint32]mode }

// mode is the mode in which a session holds.
type mode int

const (
	free mode = iota
	reads
	writes
)

func (h held) with(s uint32, n mode) held {
	by := maps.Clone(h.by)
	if n == free {
		delete(by, s)
	} else {
		by[s] = n
	}
	return held{by}
}

func (t tries) from(done uint, h held) bool {
	key := fmt.Sprint(done, h.by)
	if t.dead[key] {
		return false
	}
	first := uint32(Never) // what must be done before this return
	left := false
	for i := range t.o.All {
		if done&(1<<i) == 0 && t.o.All[i].Out != Unknown {
			first, left = min(first, t.o.All[i].Ret), true
		}
	}
	if !left {
		return true
	}
	for i := range t.o.All {
		if done&(1<<i) != 0 || t.o.All[i].Call > first {
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
	s, out := t.o.All[i].Session, t.o.All[i].Out
	_, holds := h.by[s]
	if t.o.All[i].Kind == Release {
		switch {
		case out == OK || out == Unknown && holds:
			return h.with(s, free), holds
		case out == Unknown:
			return h, true
		}
		return h, !holds
	}
	n := writes
	if t.o.All[i].Kind == AcquireShared {
		n = reads
	}
	fits := t.fits(s, n, h, false)
	next := h.with(s, n)
	switch out {
	case OK:
		return next, fits
	case StrictFail:
		return h, !t.fits(s, n, h, !t.m.Reentrant)
	case Unknown:
		if fits {
			return next, true
		}
	}
	return h, true
}

// owner returns the owner of a session.
func (t tries) owner(s uint32) int64 {
	if len(t.o.Owners) > 0 {
		return int64(t.o.Owners[s])
	}
	return int64(s)
}

// fits reports whether a session may hold together with the holders. In a lock that is not reentrant, holds of its own
// owner count too.
func (t tries) fits(s uint32, n mode, h held, strangers bool) bool {
	for other, m := range h.by {
		if (m == writes || n == writes) && (strangers || t.owner(other) != t.owner(s)) {
			return false
		}
	}
	return true
}

// shapes of random histories.
type drawing struct {
	clients, ops int
	unknown      int // one in so many
	try          int // one in try acquires is refused
	strict       bool
	lie          int  // one in lie answers is random; the others come from a simulated lock
	owners       int  // so many share the clients; 0: each session is its own
	shared       bool // some sessions are readers
}

// random simulates clients of a lock that mostly works, and records the answers.
func random(r *rand.Rand, m Model, d drawing) *Ops {
	type client struct {
		session uint32
		has     bool // an acquire is open, done or unknown
		open    int  // operation under way, or -1
		over    bool // an outcome is unknown
		holds   bool // the client knows that it holds
		done    bool // the operation under way has taken effect
		went    bool
	}
	o := &Ops{}
	clients := make([]client, d.clients)
	for i := range clients {
		clients[i].open = -1
	}
	h := held{by: map[uint32]mode{}}
	t := tries{m: m, o: o}
	pos, sessions := uint32(0), uint32(0)
	effect := func(c *client) {
		if c.done {
			return
		}
		c.done = true
		// Check whether the operation can take effect now.
		was := o.All[c.open].Out
		o.All[c.open].Out = OK
		var next held
		if next, c.went = t.apply(c.open, h); c.went {
			h = next
		}
		o.All[c.open].Out = was
	}
	for len(o.All) < d.ops || anyOpen(len(clients), func(i int) bool { return clients[i].open >= 0 }) {
		n := r.IntN(len(clients))
		c := &clients[n]
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
				case d.strict && o.All[i].Kind != Release && r.IntN(2) == 0:
					out = StrictFail
				default:
					out = Fail
				}
				if r.IntN(d.lie) == 0 {
					out = Out(1 + r.IntN(2))
					if o.All[i].Kind != Release && out == Fail && d.strict {
						out = StrictFail
					}
				}
			} else if r.IntN(2) == 0 {
				effect(c)
			}
			o.All[i].Out = out
			if out != Unknown {
				o.All[i].Ret = pos
				pos++
			}
			c.open, c.done = -1, false
			switch {
			case out == Unknown:
				c.over = true
			case o.All[i].Kind == Release:
				c.holds = false
			default:
				c.holds, c.has = out == OK, out == OK
			}
			continue
		}
		if len(o.All) >= d.ops {
			continue
		}
		k := Kind(Release)
		if !c.has || !c.holds && r.IntN(2) == 0 {
			*c = client{session: sessions, has: true, open: -1}
			sessions++
			k = Acquire
			if d.owners > 0 {
				o.Owners = append(o.Owners, uint32(n%d.owners))
			}
		}
		if k == Acquire && d.shared && r.IntN(2) == 0 {
			k = AcquireShared
		}
		c.open = len(o.All)
		o.All = append(o.All, Op{pos, Never, c.session, k, Unknown})
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

// drawn writes a history for the message of a failed test.
func drawn(o *Ops) string {
	var b strings.Builder
	for i := range o.All {
		ret := "-"
		if o.All[i].Ret != Never {
			ret = fmt.Sprint(o.All[i].Ret)
		}
		fmt.Fprintf(&b, "[%d,%s] session %d of %d %s %s\n", o.All[i].Call, ret, o.All[i].Session, tries{o: o}.owner(o.All[i].Session),
			[...]string{"acquire", "acquire-shared", "release"}[o.All[i].Kind], [...]string{"unknown", "ok", "fail", "strict-fail"}[o.All[i].Out])
	}
	return b.String()
}
