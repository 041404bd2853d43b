package locksim

import "time"

// keep is the library that renews a session's lease, three times in a lease. It goes on
// until the release begins, the client is gone, or it hears that nothing is held.
func (c *client) keep(s *session) {
	x := c.x
	period := x.plan.Lock.Renewed / 3
	x.clock.at(x.awake(c.n), func() {
		if c.dead || s.leaving || s.lost {
			return
		}
		sent, heard := x.clock.now, false
		x.trip(c.n, time.Millisecond, false, func() {
			held := x.server.renew(s, 0, false)
			x.trip(c.n, time.Millisecond, false, func() {
				x.clock.at(x.awake(c.n), func() {
					heard = true
					if held {
						s.answered = sent
						x.clock.at(max(x.clock.now, sent+period), func() { c.keep(s) })
						return
					}
					c.loses(s)
				})
			})
		})
		x.clock.after(max(5*time.Millisecond, period/10), func() {
			switch {
			case heard:
			case x.clock.now-s.answered > x.plan.Lock.Renewed*21/20: // not before the lease is over for certain
				x.clock.at(x.awake(c.n), func() { c.loses(s) })
			default:
				c.keep(s)
			}
		})
	})
}

// loses is a library that knows that the lock is lost. One that watches tells.
func (c *client) loses(s *session) {
	if c.dead || s.leaving || s.lost {
		return
	}
	s.lost = true
	c.notice(s)
}

// notice tells once that a session is lost, if the library does that.
func (c *client) notice(s *session) {
	if c.x.plan.Lock.Watched && !c.silent && !s.told {
		s.told = true
		c.x.tell("c%d lost session=%s", c.n, s.name)
	}
}

// letGo is a library that gives a lock up by itself, and tells of it late.
func (c *client) letGo(step Step, s *session) {
	x := c.x
	if s.state != granted || s.leaving || !step.Fate.Wrong {
		return
	}
	if x.server.release(s, false) {
		x.server.wrongs++
	}
	x.clock.after(step.Fate.There, func() { c.loses(s) })
}
