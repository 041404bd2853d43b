package locksim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (c *client) acquire(step Step, process int, then func()) {
	x := c.x
	c.attempts++
	s := &session{
		client: c, name: fmt.Sprintf("%d.%d", c.n, c.attempts), keys: step.Keys,
		shared: step.Shared, until: never,
	}
	s.owner = s.name
	if x.plan.Lock.Owners {
		s.owner = c.owner()
	}
	c.sessions[step.ID] = s
	k := c.begin(process, s, describe(step, s), then)
	if x.plan.Lock.NoWaits && step.Wait > 0 {
		k.end(func() string {
			s.state = refused
			return "fail unsupported"
		})
		return
	}
	patience := step.Fate.Patience + step.Wait
	x.clock.at(x.awake(c.n), func() { // the client has read the answer
		c.attempt(k, step, x.clock.now, x.clock.now+step.Wait, step.Fate)
		x.clock.after(patience, func() {
			k.end(func() string {
				s.state = unknown
				return "info timeout"
			})
		})
	})
}

// describe writes an acquire in the notation of the golden files.
func describe(step Step, s *session) string {
	what := "acquire " + step.Keys[0]
	if len(step.Keys) > 1 {
		what = "acquire keys=" + strings.Join(step.Keys, ",")
	}
	if step.TTL > 0 {
		what += fmt.Sprintf(" ttl=%s", step.TTL)
	}
	if step.Wait > 0 {
		what += fmt.Sprintf(" wait=%s", step.Wait)
	}
	if step.Shared {
		what += " mode=shared"
	}
	if s.owner != s.name {
		what += " owner=" + s.owner
	}
	return what
}

// attempt sends one request. Without a queue on the server, it repeats the request while there is time.
func (c *client) attempt(k *call, step Step, read, end time.Duration, f Fate) {
	x, s := c.x, k.s
	if c.dead || k.done {
		return
	}
	start := x.clock.now
	a := &ask{s: s, ttl: step.TTL, wrong: f.Wrong}
	if x.plan.Lock.Queue {
		a.wait = step.Wait
	}
	a.answer = func(n answer) {
		back := f.Back
		x.trip(c.n, back, f.LoseBack, func() {
			x.clock.at(x.awake(c.n), func() {
				if !n.ok && !x.plan.Lock.Queue && x.clock.now < end && !k.done && !c.silent {
					pause := max(time.Millisecond, min(step.Wait/8, end-x.clock.now))
					x.clock.after(pause, func() {
						x.clock.at(x.awake(c.n), func() {
							c.attempt(k, step, read, end, Fate{There: time.Millisecond, Back: time.Millisecond, Wrong: f.Wrong})
						})
					})
					return
				}
				k.end(func() string { return c.settle(step, s, n, start, read) })
			})
		})
	}
	x.trip(c.n, f.There, f.LoseThere, func() {
		x.server.acquire(a)
		if a.gone || step.Seen == 0 {
			return
		}
		x.clock.after(step.Seen, func() {
			if slices.Contains(x.server.queue, a) && !k.done {
				x.tell("probe queued=%s", s.name)
			}
		})
	})
}

// settle handles the answer in the client.
func (c *client) settle(step Step, s *session, n answer, start, read time.Duration) string {
	x := c.x
	if !n.ok {
		s.state = refused
		if n.strict {
			return "fail taken strict=true"
		}
		return "fail taken"
	}
	s.state, s.token = granted, n.token
	said := "ok"
	waited := x.plan.Lock.Queue && step.Wait > 0
	switch {
	case step.TTL > 0 && !waited && x.plan.Lock.Until:
		s.until = start + step.TTL - x.plan.Lock.Drift
		said += fmt.Sprintf(" until=%s", s.until-read)
	case step.TTL > 0 && waited:
		s.until = x.clock.now + step.TTL*3/4
	case step.TTL > 0:
		s.until = read + step.TTL
	case x.plan.Lock.Renewed > 0:
		said += fmt.Sprintf(" renewed=true lease=%s", x.plan.Lock.Renewed)
		s.answered = start
		if waited {
			s.answered = x.clock.now
		}
		x.clock.after(x.plan.Lock.Renewed/3, func() { c.keep(s) })
	}
	if x.plan.Lock.Fenced {
		said += fmt.Sprintf(" token=%d", n.token)
	}
	if x.plan.Lock.Watched && s.until != never && step.Fate.There > time.Millisecond {
		// The library watches the clock. A renewal may have moved the end.
		x.clock.at(s.until, func() {
			x.clock.at(x.awake(c.n), func() {
				if x.clock.now >= s.until {
					c.loses(s)
				}
			})
		})
	}
	if step.Look > 0 {
		x.clock.after(step.Look, func() { x.look(s) })
	}
	return said
}

// look queries the server for the remaining lease of the lock.
func (x *sim) look(s *session) {
	var end time.Duration
	for _, h := range x.server.holds {
		if !x.server.over(h) && slices.Contains(h.s.keys, s.keys[0]) {
			end = max(end, h.end)
		}
	}
	if end > x.clock.now && end != never {
		x.tell("probe key=%s ttl=%s session=%s", s.keys[0], end-x.clock.now, s.name)
	}
}
