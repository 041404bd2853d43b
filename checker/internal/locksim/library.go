package locksim

import "time"

// keep is the library's renewal of a session's lease, three times in a lease. It ends when the release begins, the client is
// gone, or a renewal is answered "not held".
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
			case x.clock.now-s.answered > x.plan.Lock.Renewed*21/20: // the lease is certainly over
				x.clock.at(x.awake(c.n), func() { c.loses(s) })
			default:
				c.keep(s)
			}
		})
	})
}

// loses records in the library that the lock is lost. A library that watches notifies the client.
func (c *client) loses(s *session) {
	if c.dead || s.leaving || s.lost {
		return
	}
	s.lost = true
	c.notice(s)
}

// notice notifies the client once, if the library has notices.
func (c *client) notice(s *session) {
	if c.x.plan.Lock.Watched && !c.silent && !s.told {
		s.told = true
		c.x.tell("c%d lost session=%s", c.n, s.name)
	}
}

// letGo is the mistake of a library that releases a lock by itself and notifies the client late.
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
