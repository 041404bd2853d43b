package locksim

import (
	"slices"
	"time"
)

// server has the true state of the lock: its holders and the ends of their leases. It executes requests one after another
// when they arrive.
type server struct {
	clock *clock
	lock  Lock
	holds []*hold
	queue []*ask
	token uint64
	freed map[*session]bool // sessions that were released with ok
	// wrongs counts the actions that a correct lock would not have done.
	wrongs int
}

// hold is a session that holds. A lease may be kept for a while after its end. The next session is granted the lock only
// after that.
type hold struct {
	s     *session
	end   time.Duration // the end of its lease, or never
	token uint64
}

// ask is an acquire that has arrived at the server.
type ask struct {
	s         *session
	ttl, wait time.Duration
	wrong     bool
	met       bool // another session held when it arrived
	gone      bool // answered
	skipped   bool
	answer    func(answer)
}

type answer struct {
	ok, strict bool
	token      uint64
}

func (v *server) over(h *hold) bool { return h.end != never && v.clock.now >= h.end+v.lock.Linger }

func (v *server) expire() { v.holds = slices.DeleteFunc(v.holds, v.over) }

// holdOf returns the hold of a session.
func (v *server) holdOf(s *session) *hold {
	for _, h := range v.holds {
		if h.s == s && !v.over(h) {
			return h
		}
	}
	return nil
}

// bars reports whether a holder excludes a session.
func (v *server) bars(h *hold, s *session) bool {
	switch {
	case h.s.shared && s.shared:
		return false
	case v.lock.Enters && h.s.owner == s.owner:
		return h.s.shared && !s.shared && !v.lock.Upgrades
	}
	return true
}

// fits reports whether a session may hold together with the holders.
func (v *server) fits(s *session, keys []string) bool {
	for _, key := range keys {
		for _, h := range v.holds {
			if slices.Contains(h.s.keys, key) && v.bars(h, s) {
				return false
			}
		}
	}
	return true
}

// enters reports whether the session's owner already holds all requested keys.
func (v *server) enters(s *session) bool {
	for _, key := range s.keys {
		if !slices.ContainsFunc(v.holds, func(h *hold) bool { return h.s.owner == s.owner && slices.Contains(h.s.keys, key) }) {
			return false
		}
	}
	return v.lock.Enters
}

// acquire executes a request. The answer may come later.
func (v *server) acquire(a *ask) {
	v.expire()
	fits := v.fits(a.s, a.s.keys)
	a.met = !fits
	if v.lock.Fair && len(v.queue) > 0 && !v.enters(a.s) {
		fits = false
	}
	switch {
	case a.wrong && a.met && v.joins(a.s):
		v.wrongs++
		v.grant(a)
	case a.wrong && fits && v.lock.Mistake == RefusesFree:
		v.wrongs++
		v.reply(a, answer{strict: true})
	case a.wrong && fits && v.lock.Mistake == RefusesHeld:
		v.wrongs++
		v.reply(a, answer{strict: true})
		v.keep(a)
	case fits && v.lock.Shy && a.wrong:
		v.reply(a, answer{})
	case fits:
		v.grant(a)
	case a.wait > 0:
		v.queue = append(v.queue, a)
		v.clock.after(a.wait, func() {
			if !a.gone {
				v.queue = slices.DeleteFunc(v.queue, func(o *ask) bool { return o == a })
				v.reply(a, answer{strict: a.met})
				v.serve()
			}
		})
	default:
		v.reply(a, answer{strict: a.met})
	}
}

// joins reports whether the lock, by its mistake, grants itself to a session that does not fit.
func (v *server) joins(s *session) bool {
	all := func(mode func(*hold) bool) bool {
		return !slices.ContainsFunc(v.holds, func(h *hold) bool { return v.bars(h, s) && !mode(h) })
	}
	switch v.lock.Mistake {
	case GrantsBlindly:
		return true
	case WriterJoins:
		return !s.shared && all(func(h *hold) bool { return h.s.shared })
	case ReaderJoins:
		return s.shared
	case LooksAtOneKey:
		return v.fits(s, s.keys[:1])
	}
	return false
}

func (v *server) reply(a *ask, n answer) {
	a.gone = true
	n.strict = n.strict && v.lock.Strict
	a.answer(n)
}

func (v *server) grant(a *ask) { v.reply(a, answer{ok: true, token: v.keep(a)}) }

// keep makes the session a holder and returns its token.
func (v *server) keep(a *ask) uint64 {
	h := &hold{s: a.s, end: v.lease(a.ttl)}
	switch {
	case h.end == never || !a.wrong:
	case v.lock.Mistake == LeaseShort:
		v.wrongs++
		h.end = v.clock.now + (h.end-v.clock.now)/5
	case v.lock.Mistake == LeaseLong:
		v.wrongs++
		h.end = v.clock.now + (h.end-v.clock.now)*50
	case v.lock.Mistake == InnerShortens:
		for _, o := range v.holds {
			if o.s.owner == a.s.owner && o.end > h.end {
				v.wrongs++
				o.end = h.end
				v.clock.at(o.end+v.lock.Linger, v.serve)
			}
		}
	}
	h.token = v.count(a)
	v.holds = append(v.holds, h)
	v.ends(h)
	return h.token
}

// count returns the next token.
func (v *server) count(a *ask) uint64 {
	switch {
	case !v.lock.Fenced:
		return 0
	case a.wrong && v.lock.Mistake == TokenFalls && v.token > 2:
		v.wrongs++
		return v.token - 2
	case a.wrong && v.lock.Mistake == TokenRepeats && v.token > 0:
		v.wrongs++
		return v.token
	}
	for _, h := range v.holds {
		if v.lock.Enters && h.s.owner == a.s.owner && v.lock.TokenStep == 1 {
			return h.token
		}
	}
	v.token += uint64(v.lock.TokenStep)
	return v.token
}

// lease returns the end of a lease that begins now.
func (v *server) lease(ttl time.Duration) time.Duration {
	if ttl > 0 {
		return v.clock.now + ttl
	}
	if l := v.lock.Renewed; l > 0 {
		// A library renews in time, but a request takes time, and the library repeats it
		// only at intervals while there is no answer.
		return v.clock.now + l + l/10 + 10*time.Millisecond
	}
	return never
}

func (v *server) ends(h *hold) {
	if h.end != never {
		v.clock.at(h.end+v.lock.Linger, v.serve)
	}
}

// serve grants the lock to all waiters that fit.
func (v *server) serve() {
	v.expire()
	for {
		i := v.next()
		if i < 0 {
			return
		}
		a := v.queue[i]
		if i > 0 && v.lock.Fair {
			v.wrongs++
		}
		v.queue = slices.Delete(v.queue, i, i+1)
		v.grant(a)
	}
}

// next returns the next waiter of the queue, or -1.
func (v *server) next() int {
	order := make([]int, len(v.queue))
	for i := range order {
		order[i] = i
	}
	if len(order) > 0 && v.lock.Mistake == Overtakes && v.queue[0].wrong {
		slices.Reverse(order)
	}
	for _, i := range order {
		a := v.queue[i]
		if v.lock.Mistake == Forgets && a.wrong {
			if !a.skipped && v.fits(a.s, a.s.keys) {
				a.skipped = true
				v.wrongs++
			}
			continue
		}
		if v.fits(a.s, a.s.keys) {
			return i
		}
		if v.lock.Fair {
			break
		}
	}
	return -1
}

// drop ends holds because of a mistake or of a client.
func (v *server) drop(gone func(*hold) bool) int {
	before := len(v.holds)
	v.holds = slices.DeleteFunc(v.holds, gone)
	return before - len(v.holds)
}

// deniesHolder makes the mistake of answering "not held" to a holder, which may end the hold.
func (v *server) deniesHolder(h *hold) bool {
	if v.lock.Mistake != DeniesHolder && v.lock.Mistake != EvictsHolder {
		return false
	}
	v.wrongs++
	if v.lock.Mistake == EvictsHolder {
		v.drop(func(o *hold) bool { return o == h })
		v.serve()
	}
	return true
}

// release ends the hold of a session and reports whether there was one.
func (v *server) release(s *session, wrong bool) bool {
	v.expire()
	h := v.holdOf(s)
	if h == nil {
		return wrong && v.releasesNone(s)
	}
	switch {
	case wrong && v.deniesHolder(h):
		return false
	case wrong && v.lock.Mistake == InnerReleases:
		if v.drop(func(o *hold) bool { return o != h && o.s.owner == s.owner }) > 0 {
			v.wrongs++
		}
	}
	v.drop(func(o *hold) bool { return o == h })
	v.freed[s] = true
	if wrong && v.lock.Mistake == NeverWakes && h.end != never && len(v.queue) > 0 {
		v.wrongs++
		v.clock.at(h.end, v.serve)
		return true
	}
	v.serve()
	return true
}

// releasesNone reports whether the lock, by its mistake, answers ok to a session that does not hold.
func (v *server) releasesNone(s *session) bool {
	switch v.lock.Mistake {
	case DeletesAny:
		if v.drop(func(o *hold) bool { return overlap(o.s.keys, s.keys) }) == 0 {
			return false
		}
		v.wrongs++
		v.serve()
		return true
	case ReleasesNothing:
		v.wrongs++
		return true
	case ReleasesTwice:
		if v.freed[s] {
			v.wrongs++
		}
		return v.freed[s]
	}
	return false
}

// renew moves the end of a session's lease and reports whether the session holds.
func (v *server) renew(s *session, ttl time.Duration, wrong bool) bool {
	v.expire()
	h := v.holdOf(s)
	switch {
	case h == nil && wrong && v.lock.Mistake == RenewsNothing:
		v.wrongs++
		return true
	case h == nil && wrong && v.lock.Mistake == RenewsAnew:
		v.wrongs++
		v.drop(func(o *hold) bool { return overlap(o.s.keys, s.keys) && v.bars(o, s) })
		h = &hold{s: s}
		v.holds = append(v.holds, h)
	case h == nil:
		return false
	case wrong && v.deniesHolder(h):
		return false
	case wrong && v.lock.Mistake == RenewsNot:
		v.wrongs++
		return true
	}
	h.end = v.lease(ttl)
	v.ends(h)
	return true
}

// died handles the holds of a client that has died.
func (v *server) died(c *client) {
	theirs := func(h *hold) bool { return h.s.client == c }
	if v.lock.Mistake == HandsOverEarly {
		v.wrongs += v.drop(func(h *hold) bool { return theirs(h) && h.end != never })
	}
	if v.lock.Unlinked {
		v.drop(func(h *hold) bool { return theirs(h) && h.end == never })
		v.queue = slices.DeleteFunc(v.queue, func(a *ask) bool { return a.s.client == c && a.ttl == 0 })
	}
	v.serve()
}

// crash handles the data of a server that crashes. If it loses its data, waiters get no answer.
func (v *server) crash() {
	if v.lock.Mistake == LosesAtCrash {
		v.wrongs++
		v.holds, v.queue, v.token = nil, nil, 0
	}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
