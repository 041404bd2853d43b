package locksim

import (
	"fmt"
	"strings"
	"time"
)

// client executes a script. It sends requests and reads answers only while it is not paused.
type client struct {
	x            *sim
	n            int
	script       Script
	at           int // index of the next step
	process      int
	processes    int // additional processes so far
	attempts     int
	sessions     map[int]*session // by the ID of the acquire
	silent, dead bool
}

// session is one acquire and the operations under it.
type session struct {
	client   *client
	name     string
	owner    string
	keys     []string
	shared   bool
	token    uint64
	state    state
	until    time.Duration // the end of the lease as the client computes it, or never
	leaving  bool          // a release was called
	lost     bool          // its library knows of the loss and reports it
	doubts   bool          // the client was told of the loss and does not work any more
	told     bool          // the library has sent its only notice
	open     int           // operations under way
	answered time.Duration // the start of the latest renewal that was answered
}

type state uint8

const (
	asked state = iota
	granted
	refused
	unknown
)

// onwards continues with the next step.
func (c *client) onwards() {
	if c.at >= len(c.script) {
		return
	}
	step := c.script[c.at]
	c.at++
	c.x.clock.after(step.After, func() {
		if !c.silent {
			c.take(step)
		}
	})
}

// take executes a step and then the rest of the script.
func (c *client) take(step Step) {
	s := c.sessions[step.Of]
	process, then := c.process, c.onwards
	if step.Aside {
		process, then = c.fresh(), func() {}
	}
	done := true
	switch {
	case step.Do == Acquire:
		c.acquire(step, process, then)
	case s == nil || s.state == asked || s.state == refused, s.state == unknown && step.Do != Release:
		done = false
	case step.Do == Release:
		c.release(step, s, process, then)
	case step.Do == Renew && c.x.plan.Lock.Renewed == 0:
		c.renew(step, s, process, then)
	case step.Do == Check:
		c.check(step, s, process, then)
	case step.Do == Touch && c.works(s, 4*time.Millisecond) && (c.x.plan.Lock.Careless || s.open == 0):
		c.touch(step, s, process, then)
	case step.Do == Alarm && c.x.plan.Lock.Watched:
		if s.state == granted && !s.leaving && !s.lost {
			s.doubts = true
			if c.x.plan.Lock.Renewed > 0 {
				c.loses(s) // a library that reports a loss stops its renewals
			}
			c.notice(s)
		}
		done = false
	case step.Do == LetGo && c.x.plan.Lock.Mistake == LibraryLetsGo:
		c.letGo(step, s)
		done = false
	default:
		done = false
	}
	if !done || step.Aside {
		c.onwards()
	}
}

// fresh returns a process that was never used before.
func (c *client) fresh() int {
	c.processes++
	return c.n*100 + c.processes
}

// owner returns the current owner name of the client.
func (c *client) owner() string {
	n := c.n
	if c.x.plan.Lock.OneOwner {
		n = 0
	}
	return fmt.Sprintf("%s%d", string(rune('o'+n)), c.x.retired[n])
}

// call is an operation under way.
type call struct {
	c       *client
	s       *session
	process int
	done    bool
	ended   func()
}

// begin records an invocation.
func (c *client) begin(process int, s *session, what string, ended func()) *call {
	if !strings.HasPrefix(what, "acquire") && s.name != fmt.Sprintf("%d.%d", c.n, c.attempts) {
		what += " session=" + s.name
	}
	c.x.tell("%s %s", c.who(process), what)
	s.open++
	return &call{c: c, s: s, process: process, ended: ended}
}

func (c *client) who(process int) string {
	if process == c.n {
		return fmt.Sprintf("c%d", c.n)
	}
	return fmt.Sprintf("c%d/%d", c.n, process)
}

// end records a return as soon as the client is awake. It calls note right before.
func (k *call) end(note func() string) {
	k.c.x.clock.at(k.c.x.awake(k.c.n), func() {
		if k.done || k.c.silent {
			return
		}
		k.done = true
		k.s.open--
		said := note()
		k.c.x.tell("%s %s", k.c.who(k.process), said)
		if strings.HasPrefix(said, "info") {
			k.c.retire(k.process, k.s)
		}
		k.ended()
	})
}

// retire replaces the process and the owner of an operation with unknown outcome.
func (c *client) retire(process int, s *session) {
	if process == c.process {
		c.process = c.fresh()
	}
	if s.owner == c.owner() {
		n := c.n
		if c.x.plan.Lock.OneOwner {
			n = 0
		}
		c.x.retired[n]++
	}
}

// request sends a request when the client is awake. The outcome of the operation is unknown if no answer arrives in
// time.
func (k *call) request(f Fate, patience time.Duration, unknown func(), serve func(reply func(func() string))) {
	x, n := k.c.x, k.c.n
	x.clock.at(x.awake(n), func() {
		if k.c.dead {
			return
		}
		x.trip(n, f.There, f.LoseThere, func() {
			serve(func(note func() string) {
				x.trip(n, f.Back, f.LoseBack, func() { k.end(note) })
			})
		})
		x.clock.after(patience, func() {
			k.end(func() string {
				if unknown != nil {
					unknown()
				}
				return "info timeout"
			})
		})
	})
}

// works reports whether the client may work under the session for that long.
func (c *client) works(s *session, d time.Duration) bool {
	l := c.x.plan.Lock
	switch {
	case s.leaving || s.state != granted:
		return false
	case l.Careless:
		return !s.lost // a client stops once its renewing library has reported the loss
	case s.lost || s.doubts:
		return false
	case c.x.exact():
		return c.x.lasts(s, d) && !c.x.paused(c.n, d)
	}
	return c.x.clock.now < s.until
}

func (c *client) check(step Step, s *session, process int, then func()) {
	k := c.begin(process, s, "check", then)
	x := c.x
	var look time.Duration // until the server is queried
	if step.Aside {
		look = step.Fate.There
	}
	x.clock.after(look, func() {
		x.clock.at(x.awake(c.n), func() {
			// A careful client may report a loss although it still holds the lock. A library stops its renewals when
			// it reports a loss.
			sure := !step.Fate.LoseBack && c.believes(s)
			x.clock.after(step.Fate.Back, func() {
				k.end(func() string {
					if !sure {
						s.doubts = true
						s.lost = s.lost || x.plan.Lock.Renewed > 0
						return "fail lost"
					}
					return "ok"
				})
			})
		})
	})
}

// believes reports whether a client counts on the lock.
func (c *client) believes(s *session) bool {
	switch {
	case s.leaving:
		return false
	case c.x.plan.Lock.Careless:
		return !s.lost
	case s.lost || s.doubts:
		return false
	case c.x.exact():
		return c.x.lasts(s, 0)
	}
	return c.x.clock.now < s.until
}

func (c *client) release(step Step, s *session, process int, then func()) {
	k := c.begin(process, s, "release", then)
	s.leaving = true
	k.request(step.Fate, step.Fate.Patience, nil, func(reply func(func() string)) {
		ok := c.x.server.release(s, step.Fate.Wrong)
		reply(func() string {
			if ok {
				return "ok"
			}
			return "fail not-held"
		})
	})
}

func (c *client) renew(step Step, s *session, process int, then func()) {
	k := c.begin(process, s, fmt.Sprintf("renew ttl=%s", step.TTL), then)
	x := c.x
	asked := x.clock.now
	read := x.awake(c.n)
	k.request(step.Fate, step.Fate.Patience, nil, func(reply func(func() string)) {
		ok := x.server.renew(s, step.TTL, step.Fate.Wrong)
		reply(func() string {
			switch {
			case !ok:
				s.lost = true
				return "fail not-held"
			case !x.plan.Lock.Until:
				s.until = asked + step.TTL
				return "ok"
			}
			s.until = read + step.TTL - x.plan.Lock.Drift
			return fmt.Sprintf("ok until=%s", step.TTL-x.plan.Lock.Drift)
		})
	})
}

// touch reads the counter and writes the value plus one. Readers only read. Clients that share an owner do not
// touch it, because the lock does not exclude them.
func (c *client) touch(step Step, s *session, process int, then func()) {
	x := c.x
	if x.plan.Lock.OneOwner {
		c.check(step, s, process, then)
		return
	}
	resource := "resource=plain"
	if step.Fenced && x.plan.Lock.Fenced {
		resource = "resource=fenced"
	}
	if x.plan.Lock.Fenced {
		resource += fmt.Sprintf(" token=%d", s.token)
	}
	key := s.keys[0] + resource[:len("resource=f")]
	n := x.counters[key]
	if n == nil {
		n = &counter{}
		x.counters[key] = n
	}
	var value int64
	read := c.begin(process, s, "read "+resource, func() {
		if s.shared {
			then()
			return
		}
		x.clock.after(time.Millisecond, func() {
			if c.silent {
				return
			}
			c.write(step, s, process, resource, value+1, n, then)
		})
	})
	x.clock.after(time.Millisecond, func() {
		read.end(func() string {
			value = n.value
			return fmt.Sprintf("ok value=%d", value)
		})
	})
}

// write increments the counter. The write takes effect when it returns. If the client dies before, the write may or may
// not have taken effect.
func (c *client) write(step Step, s *session, process int, resource string, value int64, n *counter, then func()) {
	x := c.x
	write := c.begin(process, s, fmt.Sprintf("write %s value=%d", resource, value), then)
	x.clock.after(time.Millisecond, func() {
		if c.silent && !step.Fate.LoseThere {
			n.value = value
		}
		write.end(func() string {
			if step.Fenced && x.plan.Lock.Fenced {
				switch {
				case s.token >= n.highest:
					n.highest = s.token
				case x.plan.Lock.Mistake == AcceptsOld && step.Fate.Wrong:
					x.server.wrongs++
				default:
					return "fail stale-token"
				}
			}
			n.value = value
			return "ok"
		})
	})
}
